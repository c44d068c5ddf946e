//! Writes the function `read_answer`, which selects the type of an answer by the path of its operation. The simulator's
//! schema has the names of the types.
use std::error::Error;
use std::{env, fs, path::Path};

const SCHEMA: &str = "../../simulator/schema/schema.json";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SCHEMA}");
    let schema: serde_json::Value = serde_json::from_str(&fs::read_to_string(SCHEMA)?)?;
    let operations = schema["operations"]
        .as_object()
        .ok_or("the schema has no operations")?;
    let arms: String = operations
        .iter()
        .map(|(path, operation)| {
            // Every submit has the same answer.
            let answer = operation["answer"].as_str().unwrap_or("ActivityResponse");
            format!("        {path:?} => read::<generated::{answer}>(json),\n")
        })
        .collect();
    let function = format!(
        "fn read_answer(path: &str, json: &str) -> Result<Value, Box<dyn Error>> {{\n    match path {{\n{arms}        \
         _ => Err(\"the schema has no such operation\".into()),\n    }}\n}}\n"
    );
    fs::write(
        Path::new(&env::var("OUT_DIR")?).join("read_answer.rs"),
        function,
    )?;
    Ok(())
}
