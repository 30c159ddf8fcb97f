package main

import (
	"fmt"
	"strings"
)

const (
	queueName = "bench"
	fillChunk = 20000 // messages posted by one statement when filling

	// Of the queue with dependencies, when it is filled: message n waits for message n-waitsBehind.
	// So many can be consumed at any time.
	waitsBehind = 2000

	plainDatabase = "bench"
	busyDatabase  = "busy" // has queues with selectors, dependencies and triggers
)

// databases are those of each stack; paths lead to the first.
var databases = []string{plainDatabase, busyDatabase}

// workload is one use of a queue, in the words of both sides.
type workload struct {
	name       string // "": plain
	ours, hand words
}

// words are the statements of one side. {n} stands for a message's number, {id} for a text that no
// other message has, and {prev} for that of the message it waits for.
type words struct {
	database  string
	table     string // emptied before each run
	held      string // query: how many messages can still be consumed
	copies    int64  // rows that each message makes; 0: not checked, there are others
	residents string // posts others than those that are counted; "": nothing
	chunk     int64  // messages posted by one statement when filling
	inOrder   bool   // and one after another

	before, values, after, end string             // post: before values after ROWS end
	consume                    func(n int) string // of ours
	pick                       string             // of a hand-written one: which rows of x are to be considered
}

// The values differ from call to call, as they do in applications: under the simple protocol every
// text is new. Two numbers make an identity, since one of more than nine digits would be no integer
// to the cache of texts.
const newValues = `\set prev :n
\set prevsalt :salt
\set n random(1, 999999999)
\set salt random(1, 999999999)
`

// post is the script that posts so many messages with one statement in a mode of pgbench's; one
// message in the simple protocol is of literals only. The hand-written one gives the ids back, as
// post gives the iids.
func (w words) post(n int, mode string) string {
	if n == 1 {
		if w.values == plainValues || mode == simpleMode {
			w.values = strings.NewReplacer(plainValues, oneValue, headersValue, oneHeader).Replace(w.values)
		}
		if mode == simpleMode {
			return newValues + w.statement(":n", "'m:n.:salt'", "'m:prev.:prevsalt'", "") + ";"
		}
		return newValues + w.statement(":n", "'m' || :n || '.' || :salt", "'m' || :prev || '.' || :prevsalt", "") + ";"
	}
	return newValues + w.statement("g + :n", "'m' || g + :n || '.' || :salt", "'m' || g + :prev || '.' || :prevsalt", fmt.Sprintf(" from generate_series(1, %d) g", n)) + ";"
}

// postOne posts a message whose value is a literal.
func (w words) postOne() string {
	w.values = oneValue
	return w.statement("1", "", "", "")
}

// fill posts the messages from one number to another.
func (w words) fill(from, to int64) string {
	text := w.statement("g", "'m' || g", fmt.Sprint("'m' || g - ", waitsBehind), fmt.Sprintf(" from generate_series(%d, %d) g", from, to))
	return strings.ReplaceAll(text, ":queue", "'"+queueName+"'")
}

func (w words) statement(n, id, prev, rows string) string {
	return w.before + strings.NewReplacer("{n}", "("+n+")", "{id}", id, "{prev}", prev).Replace(w.values) + w.after + rows + w.end
}

// ourWords are calls for a queue; shown is its name as calls give it.
func ourWords(database, queue, shown, values string) words {
	return calls("mbus4", words{
		database: database, table: "mbus4.message", copies: 1, chunk: fillChunk, values: values,
		held: "select count(*) from mbus4.message where consumer_id = (select id from mbus4.consumer where qname = '" + queue + "' and name = 'default')",
	}, shown)
}

// calls adds the calls of functions in a schema.
func calls(schema string, w words, queue string) words {
	w.before, w.after = "select "+schema+".post("+queue+", ", ")"
	w.consume = func(n int) string {
		if n == 1 {
			return "select * from " + schema + ".consume(" + queue + ");"
		}
		return fmt.Sprintf("select * from %s.consumen(%s, 'default', %d);", schema, queue, n)
	}
	return w
}

func handWords(table, columns, values, pick string) words {
	return words{
		database: plainDatabase, table: table, copies: 1, chunk: fillChunk, held: "select count(*) from " + table,
		before: "insert into " + table + "(" + columns + ") select ", values: values, end: " returning id", pick: pick,
	}
}

const plainValues = "hstore('n', {n}::text)"

// oneValue stands for plainValues where one message is posted: a literal, as a driver sends it.
// What is computed, as by hstore(…), has the call planned each time in the simple protocol, see
// docs/adr/0014-prepared-statements.md.
const oneValue = "'n=>1'"

// Protocols, as pgbench calls them.
const (
	simpleMode   = "simple"
	preparedMode = "prepared"
)

// oneHeader stands for headersValue likewise.
const (
	headersValue = "hstore('kind', 'order')"
	oneHeader    = "'kind=>order'"
)

var plain = &workload{
	ours: ourWords(plainDatabase, queueName, "'"+queueName+"'", plainValues),
	hand: handWords("q", "data", plainValues, ""),
}

// headers gives headers and an iid.
var headers = &workload{
	name: "headers",
	ours: ourWords(plainDatabase, queueName, "'"+queueName+"'", plainValues+", "+headersValue+", iid => {id}"),
	hand: handWords("q_headers", "data, headers, iid", plainValues+", "+headersValue+", {id}", ""),
}

// named has the queue's name as a parameter; by hand it is a column.
var named = &workload{
	name: "named",
	ours: ourWords(plainDatabase, queueName, ":queue", plainValues),
	hand: handWords("q_named", "queue, data", ":queue, "+plainValues, "where queue = :queue"),
}

// fan has ten consumers, five of them with selectors, of which each message meets one; consumed is
// what the first one gets.
var fan = &workload{
	name: "fan",
	ours: func() words {
		w := ourWords(busyDatabase, "fan", "'fan'", kindValues)
		w.copies = 6
		return w
	}(),
	hand: func() words {
		w := handWords("q_fan", "consumer, data", kindValues, "where consumer = 1")
		w.before = "insert into q_fan(consumer, data) select c, d from (select "
		w.end = ") v(d), generate_series(1, 10) c where c <= 5 or d->'kind' = (c - 5)::text returning id"
		w.held += " where consumer = 1"
		w.copies = 6
		return w
	}(),
}

const kindValues = "hstore('kind', ({n} % 5 + 1)::text)"

// after has each message wait for another: a client's for its previous one.
var after = &workload{
	name: "after",
	ours: func() words {
		w := ourWords(busyDatabase, "after", "'after'", plainValues+", hstore('consume_after', array[{prev}]::text), iid => {id}")
		w.chunk, w.inOrder = waitsBehind, true
		return w
	}(),
	hand: func() words {
		w := handWords("q_after", "data, after, iid", plainValues+", array[{prev}], {id}",
			"where not exists (select from q_after a where a.iid = any(x.after))")
		w.chunk, w.inOrder = waitsBehind, true
		return w
	}(),
}

// busy is plain beside others that need more.
var busy = &workload{
	name: "busy",
	ours: func() words {
		w := ourWords(busyDatabase, queueName, "'"+queueName+"'", plainValues)
		w.copies = 0
		w.residents = "select mbus4.post('fan', " + strings.ReplaceAll(kindValues, "{n}", "g") + ") from generate_series(1, 1000) g; " +
			"select mbus4.post('after', 'a=>1', iid => 'root'); " +
			"select mbus4.post('after', 'a=>1', hstore('consume_after', '{root}')) from generate_series(1, 1000) g"
		return w
	}(),
}

// standIns are functions written by hand, in a schema that the proxy does not know: it forwards the
// same bytes, but for a letter. They give rows of the same size.
var standIns = calls("mbus5", func() words {
	w := plain.hand
	w.end, w.values = "", plainValues
	return w
}(), "'"+queueName+"'")

// ourFixtures are run through the proxy, by database; handFixtures directly.
var ourFixtures = map[string]string{
	plainDatabase: "select mbus4.create_queue('" + queueName + "', 1)",
	busyDatabase: "select mbus4.create_queue(q, 1) from unnest(array['" + queueName + "', 'fan', 'after', 'source', 'copies', 'some']) q; " +
		"select mbus4.create_consumer('fan', 'plain' || n) from generate_series(1, 4) n; " + selecting() +
		"select mbus4.create_trigger('source', 'copies'); select mbus4.create_trigger('source', 'some', $$ t.data->'kind' = '1' $$)",
}

func selecting() string {
	var b strings.Builder
	for n := range 5 {
		fmt.Fprintf(&b, "select mbus4.create_consumer('fan', 'choosy%[1]d', $$ t.data->'kind' = '%[1]d' $$); ", n+1)
	}
	return b.String()
}

const handFixtures = `
	create extension if not exists hstore;
	create table q (
		id    bigserial primary key,
		added timestamptz default now(),
		data  hstore
	);
	create table q_headers (like q including all, headers hstore, iid text unique);
	create table q_after (like q including all, after text[], iid text unique);
	create table q_named (queue text, id bigserial, added timestamptz default now(), data hstore, primary key (queue, id));
	create table q_fan (consumer int, id bigserial, added timestamptz default now(), data hstore, primary key (consumer, id));
	create schema mbus5;
	create function mbus5.post(qname text, data hstore) returns text language sql as $$
		insert into q(data) values ($2)
		returning $1 || '.' || current_database() || '.' || (extract(epoch from added) * 1000000)::bigint || id
	$$;
	create function mbus5.consume(qname text) returns setof mbus4.qt_model language sql as $$
		delete from q where ctid = any (array(select ctid from q order by id limit 1 for update skip locked))
		returning id, added::timestamp, $1 || '.' || current_database() || '.' || (extract(epoch from added) * 1000000)::bigint || id,
			added::timestamp, null::timestamp, '{}'::int[],
			hstore(array['source_db', current_database(), 'destination_queue', $1, 'seenby', '{' || current_database() || '}',
				'enqueue_time', added::timestamp::text]), null::hstore, data
	$$`
