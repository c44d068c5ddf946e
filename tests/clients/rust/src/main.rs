//! Reads answers with the types of upstream's client library for Rust, and writes what these types contain.
//!
//! Each line of the input has the path of an operation, a space, and the JSON of an answer. For each line, the output has
//! one line of JSON: `{"Ok": VALUE}` with the value to which the library serializes the answer, or `{"Err": REASON}` if
//! the library cannot read the answer.
use std::error::Error;
use std::io;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use turnkey_client::generated;

include!(concat!(env!("OUT_DIR"), "/read_answer.rs"));

fn read<T: DeserializeOwned + Serialize>(json: &str) -> Result<Value, Box<dyn Error>> {
    let answer: T = serde_json::from_str(json)?;
    Ok(serde_json::to_value(answer)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    for line in io::stdin().lines() {
        let line = line?;
        let (path, json) = line
            .split_once(' ')
            .ok_or("a line of the input has no space")?;
        let result = read_answer(path, json).map_err(|error| error.to_string());
        println!("{}", serde_json::to_string(&result)?);
    }
    Ok(())
}
