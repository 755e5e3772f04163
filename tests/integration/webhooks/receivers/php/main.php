<?php

require 'webhook.php';

foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
    $headers = [];
    foreach (explode(' ', $line) as $field) {
        [$name, $text] = explode(':', $field);
        $headers[ucwords($name, '-')] = base64_decode($text); // as getallheaders() has them
    }
    $headers = array_change_key_case($headers);
    ['secret' => $secret, 'body' => $body] = $headers;
    echo json_encode(is_authentic($secret, $headers, $body)), "\n";
}
