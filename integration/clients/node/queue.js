'use strict';
// A queue's life as node-postgres sees it.

const assert = require('node:assert');

async function codeOf(client, text, values) {
  try {
    await client.query(text, values);
  } catch (err) {
    return err.code;
  }
  return 'none';
}

module.exports = async function queue(client, options) {
  const say = (line) => console.log(line);
  await client.query("select mbus4.create_queue('orders', 4)");
  say('created');

  const post = 'select mbus4.post($1, $2, $3, $4, $5, $6, $7) as iid';
  let r = await client.query(post, ['orders', 'sku=>A1', 'trace=>t1', 'kind=>new', null,
    new Date(Date.now() + 3600e3), 'first']);
  say(`posted ${r.rows[0].iid}`);

  r = await client.query({
    name: 'post-orders',
    text: 'select mbus4.post_orders($1, delayed_until => $2, iid => $3) as iid',
    values: ['sku=>B2', new Date(Date.now() + 3600e3), 'later'],
  });
  say(`posted ${r.rows[0].iid}`);

  r = await client.query("select mbus4.generate_new_msgiid('orders') as iid");
  const generated = r.rows[0].iid;
  assert.match(generated, new RegExp(`^orders\\.${options.database}\\.\\d+$`));
  r = await client.query({
    name: 'post-orders',
    text: 'select mbus4.post_orders($1, delayed_until => $2, iid => $3) as iid',
    values: ['sku=>C3', null, generated],
  });
  assert.strictEqual(r.rows[0].iid, generated);
  say('generated ok');

  const consume = {
    name: 'consume',
    text: `select iid, data->'sku' as sku, properties->'kind' as kind, headers->'trace' as trace, m.*
      from mbus4.consume($1) m`,
    values: ['orders'],
  };
  const shown = (row) => `consumed ${row.iid} ${row.sku} ${row.kind} ${row.trace}`;
  await client.query('begin');
  r = await client.query(consume);
  assert.deepStrictEqual(r.fields.slice(4).map((f) => f.name), ['id', 'added', 'iid', 'delayed_until',
    'expires', 'received', 'headers', 'properties', 'data']);
  assert.ok(r.rows[0].added instanceof Date);
  assert.ok(r.rows[0].expires > new Date());
  say(shown(r.rows[0]));
  await client.query('rollback');
  say('rolled back');
  await client.query('begin');
  say(shown((await client.query(consume)).rows[0]));
  await client.query('commit');
  say('committed');

  r = await client.query("select (mbus4.consume('orders')).iid");
  assert.strictEqual(r.rows[0].iid, generated);
  say('consumed generated');
  r = await client.query(consume);
  say(r.rows.length === 0 ? 'empty' : 'not empty');

  r = await client.query('select mbus4.is_msg_exists($1) as there', ['later']);
  say(`exists ${r.rows[0].there}`);
  r = await client.query('select iid from mbus4.take($1)', ['later']);
  say(`took ${r.rows[0].iid}`);

  say(`error ${await codeOf(client, 'select mbus4.post($1, $2)', ['nowhere', 'a=>1'])}`);
  r = await client.query('select mbus4.post($1, $2, iid => $3)', ['orders', 'a=>1', 'dup']);
  assert.strictEqual(r.fields[0].name, 'post');
  say(`posted ${r.rows[0].post}`);
  say(`error ${await codeOf(client, 'select mbus4.post($1, $2, iid => $3)', ['orders', 'a=>1', 'dup'])}`);
  r = await client.query("select iid from mbus4.consumen('orders', 'default', $1::int)", [100]);
  say(`left ${r.rows.map((row) => row.iid).join(' ')}`);
};
