mod webhook;

use base64ct::{Base64, Encoding};
use std::collections::HashMap;

fn main() {
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let fields: HashMap<&str, Vec<u8>> = line
            .split(' ')
            .map(|field| field.split_once(':').unwrap())
            .map(|(name, text)| (name, Base64::decode_vec(text).unwrap()))
            .collect();
        let text = |name: &str| std::str::from_utf8(fields.get(name)?).ok();
        let answer = std::panic::catch_unwind(|| {
            webhook::is_authentic(text("secret").unwrap(), text, &fields["body"])
        });
        println!("{}", answer.map_or("unusable".to_string(), |each| each.to_string()));
    }
}
