mod webhook;

use base64ct::{Base64, Encoding};
use std::collections::HashMap;

fn main() {
    let secret = std::env::args().nth(1).unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let fields: HashMap<&str, Vec<u8>> = line
            .split(' ')
            .map(|field| field.split_once(':').unwrap())
            .map(|(name, text)| (name, Base64::decode_vec(text).unwrap()))
            .collect();
        let is_authentic = webhook::is_authentic(
            &secret,
            |name| std::str::from_utf8(fields.get(name)?).ok(),
            &fields["body"],
        );
        println!("{is_authentic}");
    }
}
