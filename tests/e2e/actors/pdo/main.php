<?php

require 'actor.php';
require 'steps.php';

$server = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));

take(function (array $step, callable $work) use ($server): void {
    // each time the same connection, which PHP keeps
    $pdo = new PDO($server, getenv('PGUSER'), null, [PDO::ATTR_PERSISTENT => true]);
    $update = function (string $status) use ($pdo): void {
        $pdo->prepare('update invoice set status = ?, backend = pg_backend_pid() where id = 7')->execute([$status]);
    };
    if ($step['way'] === 'plain') {
        $work($update);
    } else {
        acting_as($pdo, $step['actor'], fn () => $work($update), $step['tenant'], $step['context']);
    }
});
