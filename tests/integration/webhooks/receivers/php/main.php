<?php

require 'webhook.php';

foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    $headers = [];
    foreach (explode(' ', $line) as $field) {
        [$name, $text] = explode(':', $field);
        $headers[$name] = base64_decode($text);
    }
    $body = $headers['body'];
    unset($headers['body']);
    echo json_encode(is_authentic($argv[1], $headers, $body)), "\n";
}
