<?php

require 'webhook.php';

foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    $headers = [];
    foreach (explode(' ', $line) as $field) {
        [$name, $text] = explode(':', $field);
        $headers[$name] = base64_decode($text);
    }
    ['secret' => $secret, 'body' => $body] = $headers;
    echo json_encode(is_authentic($secret, $headers, $body)), "\n";
}
