<?php

error_reporting(E_ALL & ~E_DEPRECATED);

require 'Illuminate/Database/autoload.php';
require 'actor.php';
require 'steps.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Facade;

$manager = new Manager();
$manager->addConnection([
    'driver' => 'pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'username' => getenv('PGUSER'),
    'database' => getenv('PGDATABASE'), 'charset' => 'utf8',
]);
$manager->bootEloquent();
$manager->getContainer()->instance('db', $manager->getDatabaseManager());
Facade::setFacadeApplication($manager->getContainer());

class Invoice extends Model
{
    public $timestamps = false;
    protected $table = 'invoice';
    protected $guarded = [];
}

take(function (array $step, callable $work): void {
    $update = function (string $status): void {
        Invoice::find(7)->update(['status' => $status, 'backend' => DB::selectOne('select pg_backend_pid() as id')->id]);
    };
    try {
        if ($step['way'] === 'plain') {
            $work($update);
        } elseif ($step['way'] === 'nests') {
            acting_as($step['actor'], function () use ($work, $update): void {
                $work($update);
                acting_as('inner', fn () => $update('inside'));
                $update('afterwards');
            });
        } else {
            acting_as($step['actor'], fn () => $work($update), $step['tenant'], $step['context']);
        }
    } catch (PDOException $error) {
        if ($step['status'] !== 'lost') {
            throw $error;
        }
        DB::reconnect();
        throw new RuntimeException('the rollback hides: terminating connection', 0, $error);
    }
});
