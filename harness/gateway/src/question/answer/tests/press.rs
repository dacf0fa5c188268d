use crate::question::answer::*;

#[test]
pub(crate) fn q2_the_data_of_a_button_is_short_and_read_back() {
    let long = "x".repeat(200);
    for id in ["6aea6a9c-aaca-494a-a535-23e28a99ab67", "req:1", "ü", "", &long] {
        for button in [
            PressedButton::Allow,
            PressedButton::Deny,
            PressedButton::Suggestion(12),
            PressedButton::Done { choice: 3 },
            PressedButton::Option { choice: 3, option: 99 },
        ] {
            let press = Press::new(id, button);
            let data = press.data();
            assert!(data.len() <= DATA_LIMIT, "{data}");
            assert_eq!(Press::parse(&data), Some(press.clone()), "{data}");
            assert!(press.is_for(id) && !press.is_for("other"), "{id}");
        }
    }
    assert_eq!(Press::new(&long, PressedButton::Deny).data(), "q:~6ee14c8caecd5c45:d");
    for data in ["", "q", "q:a", "q::a", "q:i:z", "q:i:a1", "q:i:s", "q:i:o1", "q:i:a:b", "x:i:a"] {
        assert_eq!(Press::parse(data), None, "{data}");
    }
}
