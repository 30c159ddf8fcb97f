'use strict';
// usage: node client.js ordinary|queue HOST PORT DATABASE
// Prints one line per finding; the Go tests compare them.

const { Client } = require('pg');
const [mode, host, port, database] = process.argv.slice(2);

async function main() {
  const client = new Client({ host, port: Number(port), database, user: 'postgres' });
  client.on('error', (err) => { console.log(`connection error ${err.message}`); });
  await client.connect();
  try {
    await require(`./${mode}.js`)(client, { host, port: Number(port), database, user: 'postgres' });
  } finally {
    await client.end();
  }
}

main().catch((err) => {
  console.error(err);
  process.exitCode = 1;
});
