<?php

require 'actor.php';
require 'steps.php';

$server = sprintf('pgsql:host=%s;port=%s;dbname=%s', getenv('PGHOST'), getenv('PGPORT'), getenv('PGDATABASE'));
$connect = fn (): PDO => new PDO($server, getenv('PGUSER'), null, [PDO::ATTR_PERSISTENT => true]);
$pdo = $connect();

take(function (array $step, callable $work) use ($connect, &$pdo): void {
    $update = function (string $status) use (&$pdo): void {
        $pdo->prepare('update invoice set status = ?, backend = pg_backend_pid() where id = 7')->execute([$status]);
    };
    try {
        if ($step['way'] === 'plain') {
            $work($update);
        } else {
            acting_as($pdo, $step['actor'], fn () => $work($update), $step['tenant'], $step['context']);
        }
    } catch (PDOException $lost) {
        $pdo = $connect();
        throw $lost;
    }
});
