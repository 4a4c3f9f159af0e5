//! The form of graphs as JSON.

use crate::Graph;

/// The JSON schema of a [`Graph`], as JSON (draft 2020-12).
pub fn schema() -> String {
    // A schema is JSON already.
    format!("{:#}\n", schemars::schema_for!(Graph).to_value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs;

    /// Whether a value has no field that the schema does not name, and each that it requires.
    fn check(value: &serde_json::Value, schema: &serde_json::Value, root: &serde_json::Value, at: &str) {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            return check(value, &root["$defs"][name], root, at);
        }
        if let (Some(fields), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
            for (name, field) in fields {
                let own = properties.get(name).unwrap_or_else(|| panic!("{at}: `{name}` is not in the schema"));
                check(field, own, root, &format!("{at}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                assert!(fields.contains_key(name.as_str().unwrap()), "{at}: {name}");
            }
        }
        for element in value.as_array().into_iter().flatten() {
            check(element, &schema["items"], root, at);
        }
    }

    #[test]
    fn graphs_of_programs_follow_it() {
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        assert_eq!(schema["required"], serde_json::json!(["nodes", "edges"]));
        let text = "fn f(xs: [n]f32) -> f32, [n]f32 {
            let s: f32 = fold(|x, y| x + y, 0.0, xs)
            let ys: [n]f32 = generate([n], |i| xs[i] / s)
            return s, ys }";
        let program = fusebox_ir::text::parse(text).unwrap();
        for graph in graphs(&program).unwrap() {
            check(&serde_json::to_value(&graph).unwrap(), &schema, &schema, "graph");
        }
    }
}
