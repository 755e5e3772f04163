<?php

/** The steps of the standard input, in turn: $change makes one, with the work that fails if the step says so. */
function take(callable $change): void
{
    foreach (file('php://stdin', FILE_IGNORE_NEW_LINES) as $line) {
        $step = ['actor' => null, 'tenant' => null, 'context' => null];
        foreach (explode(' ', $line) as $field) {
            [$name, $text] = explode(':', $field);
            $step[$name] = base64_decode($text);
        }
        $step['context'] = $step['context'] === null ? null : json_decode($step['context'], true);
        if ($step['way'] === 'garbles') {
            $step['context'] = ['reason' => "\xff"];
        }
        try {
            $change($step, function (callable $update) use ($step): void {
                $update($step['status']);
                if ($step['way'] === 'fails') {
                    throw new RuntimeException('the step fails');
                }
            });
        } catch (JsonException $error) {
            if ($step['way'] !== 'garbles') {
                throw $error;
            }
        } catch (RuntimeException $error) {
            if (!preg_match('/the step fails|terminating connection/', $error->getMessage())) {
                throw $error;
            }
        }
    }
}
