<?php
// A worker with PDO: waits for orders, works, and acknowledges them. Ends on SIGTERM.
//
//     php pdo_worker.php 'pgsql:host=127.0.0.1;port=6432;user=app;dbname=app'

declare(strict_types=1);

$stopping = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$stopping): void { $stopping = true; });

$db = new PDO($argv[1], null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_OBJ]);

// A signal does not end a query in PDO, so each wait is short. hstore_to_json gives data in a form that PHP reads.
$next = $db->prepare("select hstore_to_json(data) as data, lease from mbus4.lease('orders', lease => '1 min', wait => '5s')");
$ack = $db->prepare('select mbus4.ack(?)');
$retry = $db->prepare('select mbus4.retry(?::text, ?)');

// Your work goes here. An error sends the message back.
function work(PDO $db, object $data): void
{
    $db->prepare("insert into done (worker, n) values ('pdo', ?)")->execute([(int) $data->n]);
}

while (!$stopping) {
    $next->execute();
    foreach ($next->fetchAll() as $message) { // no row: nothing came, wait again
        try {
            work($db, json_decode($message->data, false, 512, JSON_THROW_ON_ERROR));
        } catch (Exception $error) {
            $retry->execute([$message->lease, $error->getMessage()]); // comes again later, as the consumer's policy says
            continue;
        }
        $ack->execute([$message->lease]);
    }
}
