// A worker with node-postgres: waits for orders, works, and acknowledges them. Ends on SIGTERM.
//
//     node node_worker.js postgresql://app@127.0.0.1:6432/app
const { Client } = require('pg');

const url = process.argv[2];
let stopping = false;

// Your work goes here. An error sends the message back.
async function work(client, message) {
  await client.query("insert into done (worker, n) values ('node', $1)", [Number(message.data.n)]);
}

async function main() {
  const client = new Client({ connectionString: url });
  await client.connect();
  client.on('error', (error) => { if (!stopping) throw error; });
  process.on('SIGTERM', () => { // closing the connection ends the wait: nothing is taken for a client that is gone
    stopping = true;
    client.connection.stream.destroy();
  });
  while (!stopping) {
    // hstore_to_json makes data an object without a parser of its own.
    const { rows: [message] } = await client.query(
      "select iid, hstore_to_json(data) as data, attempt, lease from mbus4.lease('orders', lease => '1 min', wait => '30s')");
    if (!message) continue; // nothing came: wait again
    try {
      await work(client, message);
    } catch (error) {
      await client.query('select mbus4.retry($1::text, $2)', [message.lease, error.message]); // comes again later, as the consumer's policy says
      continue;
    }
    await client.query('select mbus4.ack($1)', [message.lease]);
  }
  await client.end();
}

main().catch((error) => {
  if (stopping) process.exit(0); // the connection is gone because we have closed it
  console.error(error);
  process.exit(1);
});
