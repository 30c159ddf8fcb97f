#!/usr/bin/env bash
# A tour of mbusproxy through real psql sessions. It builds the program, starts `mbusproxy dev` on a
# throw-away data folder and a free port, and exits 0 only if every step printed what it should.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
chmod 755 "$work" # Postgres may run as another user than we do
program=$work/mbusproxy
limit=60 # seconds that any one answer may take
proxy=
sessions=()
failures=0

finish() {
	local status=$?
	trap - EXIT
	for pid in "${sessions[@]}"; do kill "$pid" 2>/dev/null || true; done
	if [[ -n $proxy ]]; then
		kill -TERM "$proxy" 2>/dev/null || true
		wait "$proxy" 2>/dev/null || true
	fi
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

heading() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }

# expect TEXT... checks that the last answer has each of the texts.
expect() {
	local text
	for text in "$@"; do
		if [[ $answer != *"$text"* ]]; then
			printf '!! expected in the answer: %s\n' "$text"
			failures=$((failures + 1))
		fi
	done
}

# unexpected TEXT checks the contrary.
unexpected() {
	if [[ $answer == *"$1"* ]]; then
		printf '!! not expected in the answer: %s\n' "$1"
		failures=$((failures + 1))
	fi
}

# open_session NAME starts a psql that stays connected. Its input is descriptor ${in[NAME]}, its
# output descriptor ${out[NAME]}.
declare -A in out
open_session() {
	local name=$1 to from
	mkfifo "$work/$name.in" "$work/$name.out"
	PGOPTIONS= PGAPPNAME="demo-$name" psql -X -q --pset=pager=off --pset=footer=on \
		"host=127.0.0.1 port=$port user=postgres dbname=postgres connect_timeout=20" \
		<"$work/$name.in" >"$work/$name.out" 2>&1 &
	sessions+=("$!")
	exec {to}>"$work/$name.in" {from}<"$work/$name.out"
	in[$name]=$to
	out[$name]=$from
}

# read_answer NAME reads what psql prints up to our mark into $answer.
read_answer() {
	local line
	answer=
	while true; do
		if ! IFS= read -r -t "$limit" line <&"${out[$1]}"; then
			printf '!! session %s gave no answer; so far:\n%s\n' "$1" "$answer"
			exit 1
		fi
		if [[ $line == '--mark--' ]]; then return; fi
		answer+=$line$'\n'
	done
}

# silently NAME SQL runs a statement without showing it.
silently() {
	printf '%s\n\\echo --mark--\n' "$2" >&"${in[$1]}"
	read_answer "$1"
}

# ask NAME SQL runs a statement and shows it with what psql answers.
ask() {
	printf '%s%s=> %s%s\n' "$bold" "$1" "$2" "$plain"
	silently "$1" "$2"
	if [[ -n $answer ]]; then printf '%s' "$answer" | sed '/^$/d; s/^/   /'; fi
}

heading 'Building'
CGO_ENABLED=1 go build -buildvcs=false -o "$program" ./cmd/mbusproxy
echo 'go build ./cmd/mbusproxy: done'

heading 'Starting: mbusproxy dev'
mkfifo "$work/dev.out"
"$program" dev --data "$work/data/pg" --listen 127.0.0.1:0 >"$work/dev.out" 2>"$work/dev.err" &
proxy=$!
exec {dev}<"$work/dev.out"
port=
while IFS= read -r -t "$limit" line <&"$dev"; do
	printf '   %s\n' "$line"
	if [[ $line =~ postgresql://postgres@127\.0\.0\.1:([0-9]+)/ ]]; then port=${BASH_REMATCH[1]}; fi
	if [[ $line == *Ctrl-C* ]]; then break; fi
done
if [[ -z $port ]]; then
	echo '!! mbusproxy dev did not start:'
	cat "$work/dev.err"
	exit 1
fi
open_session A
open_session B

heading 'A queue is one call'
ask A "select mbus4.create_queue('orders', 1);"
expect '(1 row)'
unexpected ERROR
ask A 'create table shop_order (id int primary key, item text);'
unexpected ERROR

heading 'A rollback takes back the row and the message'
ask A 'begin;'
ask A "insert into shop_order values (1, 'a lamp');"
ask A "select mbus4.post('orders', 'order=>1') is not null as posted;"
expect ' t'
ask A 'rollback;'
ask A 'select count(*) as orders from shop_order;'
expect ' 0'
ask A "select iid, data from mbus4.consume('orders');"
expect '(0 rows)'

heading 'A commit keeps both, and until then nobody else sees them'
ask A 'begin;'
ask A "insert into shop_order values (1, 'a lamp');"
ask A "select mbus4.post('orders', 'order=>1') is not null as posted;"
expect ' t'
ask B "select data from mbus4.consume('orders');"
expect '(0 rows)'
ask A 'commit;'
ask B 'select * from shop_order;'
expect 'a lamp' '(1 row)'

heading 'Two sessions consume at once: each gets a message of its own'
ask A "with o as (insert into shop_order values (2, 'a chair') returning id) select mbus4.post('orders', hstore('order', id::text)) is not null as posted from o;"
expect ' t'
ask A 'begin;'
ask A "select data, headers->'destination' as queue from mbus4.consume('orders');"
expect '"order"=>"1"' orders '(1 row)'
ask B 'begin;'
ask B "select data, headers->'destination' as queue from mbus4.consume('orders');"
expect '"order"=>"2"' orders '(1 row)'
unexpected '"order"=>"1"'
ask A 'commit;'
ask B 'rollback;'
echo '   (A has done its message; what B took is back in the queue)'
ask A "select m.data, o.item from mbus4.consume('orders') m join shop_order o on o.id = (m.data->'order')::int;"
expect '"order"=>"2"' 'a chair' '(1 row)'
ask A "select data from mbus4.consume('orders');"
expect '(0 rows)'

heading 'A worker waits: nothing runs meanwhile, and it answers when there is something'
# begin NAME SQL shows a statement and sends it, without waiting for the answer; finish_answer shows that.
begin() {
	printf '%s%s=> %s%s\n' "$bold" "$1" "$2" "$plain"
	printf '%s\n\\echo --mark--\n' "$2" >&"${in[$1]}"
}
finish_answer() {
	read_answer "$1"
	printf '%s' "$answer" | sed '/^$/d; s/^/   /'
}
begin B "select data from mbus4.consume('orders', wait => '30s');"
for ((i = 0; i < 200; i++)); do
	silently A "select state from pg_stat_activity where application_name = 'demo-B' and query like '%at_await%';"
	if [[ $answer == *idle* ]]; then break; fi
	silently A 'select pg_sleep(0.05);'
done
echo '   (it waits; its session of the server is idle)'
ask A "select mbus4.post('orders', 'order=>7') is not null as posted;"
finish_answer B
expect '"order"=>"7"' '(1 row)'

heading 'A job with a lease: its worker is killed, and another one gets the message'
ask A "select mbus4.create_queue('jobs', 1);"
unexpected ERROR
ask A "select mbus4.alter_consumer('jobs', 'default', max_attempts => 3, backoff => '500ms');"
unexpected ERROR
ask A "select mbus4.post('jobs', 'job=>8', iid => 'job-8') as posted;"
open_session W
ask W "select data, attempt from mbus4.lease('jobs', lease => '2 seconds');"
expect '"job"=>"8"' ' 1'
kill -KILL "${sessions[-1]}"
wait "${sessions[-1]}" 2>/dev/null || true
unset 'sessions[-1]'
ask A "select state, detail from mbus4.why('job-8');"
expect leased 'attempt 1'
ask A "select data, attempt, lease as token from mbus4.lease('jobs', wait => '30s') \\gset"
ask A "select :'data' as data, :attempt as attempt;"
expect '"job"=>"8"' ' 2'

heading 'A retry comes later, with its error; the last attempt goes to dmq'
ask A "select mbus4.retry(:'token'::text, 'the printer is out of paper');"
expect ' t'
ask A "select state, until > now() as later from mbus4.why('job-8');"
expect delayed ' t'
ask A "select attempt, headers->'retry.error' as error, lease as token from mbus4.lease('jobs', wait => '30s') \\gset"
ask A "select :attempt as attempt, :'error' as error;"
expect ' 3' 'out of paper'
ask A "select mbus4.retry(:'token'::text, 'still no paper');"
expect ' t'
ask A "select data, headers->'dmq.error' as error from mbus4.consume('dmq');"
expect '"job"=>"8"' 'still no paper'

heading 'Delayed delivery'
ask A "select mbus4.post('orders', 'order=>3', delayed_until => (now() + interval '2 seconds')::timestamp) is not null as posted;"
expect ' t'
ask A "select data from mbus4.consume('orders');"
expect '(0 rows)'
echo '   (asking again until it is due)'
for ((i = 0; i < 100; i++)); do
	silently A "select data, clock_timestamp() >= delayed_until as due from mbus4.consume('orders');"
	if [[ $answer != *'(0 rows)'* ]]; then break; fi
	silently A 'select pg_sleep(0.1);'
done
printf '%s' "$answer" | sed '/^$/d; s/^/   /'
expect '"order"=>"3"' ' t' '(1 row)'

heading 'Subscribers: each gets its own copy of what its selector asks for'
ask A "select mbus4.create_consumer('orders', 'urgent', \$\$(t.properties->'priority')::int > 5\$\$);"
unexpected ERROR
ask A "select mbus4.post('orders', 'order=>4', properties => 'priority=>9') is not null as posted, mbus4.post('orders', 'order=>5', properties => 'priority=>1') is not null as posted;"
expect ' t'
ask B "select data from mbus4.consumen('orders', 'urgent', 10);"
expect '"order"=>"4"' '(1 row)'
ask B "select data from mbus4.consumen('orders', amt => 10);"
expect '"order"=>"4"' '"order"=>"5"' '(2 rows)'

heading 'A message waits for another one, in whichever queue'
ask A "select mbus4.create_queue('payments', 1);"
ask A "select mbus4.post('orders', 'ship=>6', hstore('consume_after', array[mbus4.post('payments', 'order=>6')]::text)) is not null as posted;"
expect ' t'
ask B "select data from mbus4.consume('orders');"
expect '(0 rows)'
ask A "select data from mbus4.consume('payments');"
expect '"order"=>"6"'
echo '   (now that it is paid)'
for ((i = 0; i < 50; i++)); do
	silently B "select data from mbus4.consume('orders');"
	if [[ $answer != *'(0 rows)'* ]]; then break; fi
	silently B 'select pg_sleep(0.1);'
done
printf '%s' "$answer" | sed '/^$/d; s/^/   /'
expect '"ship"=>"6"' '(1 row)'

heading 'Messages processed inside the database: how many succeeded; what fails goes to dmq'
ask A "select n, mbus4.post('orders', hstore('divide', n::text)) is not null as posted from unnest(array[1, 0, 2]) n;"
expect '(3 rows)'
ask A "select mbus4.run_on_orders(\$\$insert into shop_order select 100 / (\$1.data->'divide')::int, 'divided'\$\$);"
expect ' 2'
ask A "select id from shop_order where item = 'divided' order by id;"
expect ' 50' ' 100' '(2 rows)'
ask A "select data, headers->'dmq.error' as error from mbus4.consume('dmq');"
expect '"divide"=>"0"' 'division by zero'

heading 'The work queue: two processes share 40 messages of 50 ms each, and need half the time of one'
ask A 'create table done (n int, process int);'
# process NAME... adds messages, has the sessions work on them at once, as processes 1, 2 and so on, and
# puts the milliseconds they need into $took.
process() {
	local name began call number=0
	ask A "select count(id) as added from (select mbus4.add_message(jsonb_build_object('n', n)) as id from generate_series(1, 40) n) m;"
	expect ' 40'
	began=$(date +%s%N)
	for name; do
		number=$((number + 1))
		call="call mbus4.process_queue($number, \$\$insert into done values ((\$1->>'n')::int, $number); select pg_sleep(0.05)\$\$);"
		printf '%s%s=> %s%s\n' "$bold" "$name" "$call" "$plain"
		printf '%s\n\\echo --mark--\n' "$call" >&"${in[$name]}"
	done
	for name; do
		read_answer "$name"
		unexpected ERROR
	done
	took=$((($(date +%s%N) - began) / 1000000))
	printf '   (%d ms)\n' "$took"
}
process A
one=$took
ask A 'truncate done;'
process A B
two=$took
ask A 'select process, count(*) as messages from done group by process order by process;'
expect '(2 rows)'
ask A 'select count(*) as messages, count(distinct n) as different, (select count(*) from mbus4.work_queue) as left from done;'
expect '40 |        40 |    0'
printf '   (one process: %d ms, two at once: %d ms)\n' "$one" "$two"
if ((two * 100 > one * 75)); then
	echo '!! two processes take more than 0.75 of the time of one'
	failures=$((failures + 1))
fi

heading 'The task semaphore: the two best tasks run, a better one asks the last of them to leave'
ask A "select key from mbus4.semaphore_get_or_create('labelling');"
ask A "select mbus4.semaphore_update('labelling', active => 2, try_release => 1);"
ask A "select mbus4.semaphore_enqueue('labelling', task, priority) from (values (101, 1.0), (102, 2.0), (103, 3.0)) t (task, priority);"
# events N waits for N events and shows them.
events() {
	local collected=0
	silently B 'create temporary table if not exists event (n serial, what text, task text);'
	silently B 'truncate event;'
	for ((i = 0; i < 100; i++)); do
		silently B "insert into event (what, task) select data->'event', data->'task_id' from mbus4.consumen('semaphore_events', amt => 100);"
		silently B "select 'have ' || count(*) || ' of $1' from event;"
		if [[ $answer == *"have $1 of $1"* ]]; then collected=1; break; fi
		silently B 'select pg_sleep(0.05);'
	done
	ask B 'select what, task from event order by n;'
	if ((collected == 0)); then
		echo "!! expected $1 events"
		failures=$((failures + 1))
	fi
}
events 2
expect 'Acquired | 103' 'Acquired | 102'
ask A "select mbus4.semaphore_enqueue('labelling', 104, 9.0);"
events 1
expect 'TryRelease | 102'
ask A "select mbus4.semaphore_release('labelling', 102);"
events 1
expect 'Acquired | 104'

heading 'A mistake is an ordinary error, at its place in your own text'
ask A "select 'so far so good', mbus4.post('ordrs', 'order=>4');"
expect 'ERROR:' ordrs 'LINE 1:' '^'
ask A "select mbus4.pots('orders', 'order=>4');"
expect 'ERROR:' 'LINE 1:' '^'
ask A "select mbus4.drop_queue('orders');"
unexpected ERROR

heading 'The end: Ctrl-C'
for name in A B; do printf '\\q\n' >&"${in[$name]}"; done
for pid in "${sessions[@]}"; do wait "$pid" || failures=$((failures + 1)); done
sessions=()
server=$(head -n1 "$work/data/pg/postmaster.pid")
kill -INT "$proxy"
status=0
wait "$proxy" || status=$?
proxy=
if [[ $status != 0 ]]; then
	echo "!! mbusproxy ended with status $status"
	cat "$work/dev.err"
	failures=$((failures + 1))
fi
if kill -0 "$server" 2>/dev/null; then
	echo "!! its Postgres (process $server) is still there"
	failures=$((failures + 1))
fi

if ((failures > 0)); then
	printf '\n%d checks failed\n' "$failures"
	exit 1
fi
printf '   proxy and Postgres are gone\n\n%sAll steps printed what they should.%s `make run` keeps one running for you.\n' "$bold" "$plain"
