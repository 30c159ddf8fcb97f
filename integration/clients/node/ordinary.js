'use strict';
// Work without queues: its output is compared direct and through the proxy.

const { Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const copy = require('pg-copy-streams');
const Cursor = require('pg-cursor');
const { Client } = require('pg');

let client;

function say(name, value) {
  console.log(`${name}: ${JSON.stringify(value)}`);
}

// show runs a statement and prints everything about its outcome that a client can see.
async function show(name, text, values) {
  try {
    const r = await client.query(text, values);
    for (const one of Array.isArray(r) ? r : [r]) {
      say(name, [one.command, one.rowCount, one.fields.map((f) => [f.name, f.dataTypeID]), one.rows]);
    }
  } catch (err) {
    say(name, { code: err.code, position: err.position, message: err.message, detail: err.detail });
  }
}

module.exports = async function ordinary(connected, options) {
  client = connected;
  client.on('notice', (n) => say('notice', [n.severity, n.code, n.message]));
  await show('ddl', 'create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea)');
  await show('ddl twice', 'create table if not exists item (id int)');
  await show('insert', `insert into item values ($1, $2, $3, $4, $5, $6) returning *`,
    [1, 'one', ['a', null, 'b,c'], { k: [1, 2] }, '2026-01-02 03:04:05+00', Buffer.from([0, 255, 39])]);
  await show('nulls', 'insert into item values ($1, $2, $3, $4, $5, $6) returning *', [2, null, null, null, null, null]);
  await show('join', 'select a.id, b.name from item a left join item b on a.id = b.id + $1 order by 1', [1]);
  await show('duplicate', 'insert into item(id) values (1)');
  await show('syntax', 'select 1 +');
  await show('column', 'select id, nosuch from item where id = $1', [1]);
  await show('several', "select 1 as a; update item set name = 'two' where id = 2; select 'x' as b");
  for (const id of [1, 2]) {
    await show('named', { name: 'by-id', text: 'select name from item where id = $1', values: [id] });
  }
  await show('named fails', { name: 'div', text: 'select 1 / $1::int', values: [0] });
  await show('named again', { name: 'div', text: 'select 1 / $1::int', values: [1] });

  const into = client.query(copy.from('copy item(id, name) from stdin'));
  await pipeline(Readable.from(Array.from({ length: 5000 }, (_, i) => `${i + 10}\tname ${i}\n`)), into);
  say('copied in', into.rowCount);
  let bytes = 0;
  await pipeline(client.query(copy.to('copy (select * from item order by id) to stdout')),
    new Writable({ write(chunk, _, done) { bytes += chunk.length; done(); } }));
  say('copied out', bytes);

  const big = await client.query("select n, repeat('x', 100) as pad from generate_series(1, 50000) n");
  say('large', [big.rowCount, big.rows.reduce((sum, row) => sum + row.n + row.pad.length, 0)]);
  const one = await client.query("select repeat('y', 5000000) as pad");
  say('wide', one.rows[0].pad.length);

  const cursor = client.query(new Cursor('select n from generate_series(1, $1::int) n', [2500]));
  const sizes = [];
  for (let i = 0; i < 4; i++) sizes.push((await cursor.read(1000)).length);
  await cursor.close();
  say('cursor', sizes);

  const canceller = new Client(options);
  await canceller.connect();
  const slow = show('cancelled', 'select pg_sleep(60)');
  const pid = client.processID;
  for (let i = 0; i < 1000; i++) {
    const r = await canceller.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where pid = $1 and query like '%pg_sleep(60)%' and state = 'active'", [pid]);
    if (r.rowCount > 0) break;
  }
  await slow;
  await canceller.end();

  const heard = new Promise((resolve) => client.once('notification', resolve));
  await client.query('listen news');
  await client.query("select pg_notify('news', $1)", ['hello']);
  const n = await heard;
  say('heard', [n.channel, n.payload]);

  await show('begin', 'begin');
  await show('in failed transaction', 'select 1/0');
  await show('aborted', 'select 1');
  await show('rollback', 'rollback');
};
