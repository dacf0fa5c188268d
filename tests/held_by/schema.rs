//! The tests of the schema that `docs/stream.md` names; `tests/tidy.rs` compares them with the page.

held_by! {
    "Interfaces": [
        the_schema_is_up_to_date,
        every_kind_of_the_golden_traces_is_in_the_schema,
    ], [];
}
