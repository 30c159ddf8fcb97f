'use strict';
// usage: node client.js HOST PORT DATABASE; prints what workqueue_test.go compares.

const { Client } = require('pg');
const [host, port, database] = process.argv.slice(2);
const handler = "insert into done(n) values (($1->>'n')::int)";

async function main() {
  const client = new Client({ host, port: Number(port), database, user: 'postgres' });
  await client.connect();
  const row = async (text, ...values) => {
    const result = await client.query({ text, values, rowMode: 'array' });
    console.log(...result.rows[0]);
  };
  const call = async (query) => { console.log((await client.query(query)).command); };
  try {
    await row('select mbus4.add_message($1)', { n: 1 });
    await row("select id, payload->>'n' from mbus4.get_next_message($1)", 7);
    await row('select mbus4.release_messages($1)', 7);
    await call({ text: 'call mbus4.process_queue($1, $2)', values: [7, handler] });
    await call('call mbus4.process_queue(7)');
    await row('select n, (select count(*) from mbus4.work_queue) from done');
    await client.query('begin');
    await client.query({ name: 'process', text: 'call mbus4.process_queue($1, $2)', values: [7, handler] })
      .catch((err) => { console.log('error', err.code); });
    await client.query('rollback');
    await call({ name: 'process', text: 'call mbus4.process_queue($1, $2)', values: [7, null] });
    await row("select 'usable', count(*) from mbus4.work_queue");
  } finally {
    await client.end();
  }
}

main().catch((err) => {
  console.error(err);
  process.exitCode = 1;
});
