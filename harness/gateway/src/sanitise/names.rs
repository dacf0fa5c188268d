//! Says which members of a JSON object are secret: by their own name, by what the object says of
//! itself, and because the object is secret as a whole.

use super::patterns::NameKind;
use super::table::TABLE;

/// The facts that the members of an object state of each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct ObjectSays<'m> {
    /// The names that members have as their values: `{"name": "API_KEY", "value": …}`.
    named: [Option<&'m str>; 2],
    /// A Secret of Kubernetes, whose data is secret whatever it is called.
    is_kubernetes_secret: bool,
    /// A JSON Web Key.
    is_web_key: bool,
}

impl<'m> ObjectSays<'m> {
    /// Reads the names of an object's members, with the values that are texts.
    pub fn of(members: impl Iterator<Item = (&'m str, Option<&'m str>)>) -> Self {
        let mut says = Self::default();
        for (name, value) in members {
            match (name, value) {
                ("kind", Some("Secret")) => says.is_kubernetes_secret = true,
                ("kty", Some(_)) => says.is_web_key = true,
                ("name" | "Name", _) => says.named[0] = value,
                ("key" | "Key", _) => says.named[1] = value,
                _ => {}
            }
        }
        says
    }

    /// The kind of secret that the value of the member `name` is, in an object that is a secret of
    /// the kind `whole`.
    #[must_use]
    pub fn kind(&self, name: &str, whole: Option<NameKind>) -> Option<NameKind> {
        let whole = whole.filter(|_| !TABLE.words.is_attribute(name));
        let by_others = match name {
            "value" | "Value" => self.named.into_iter().flatten().find_map(secret_name),
            "data" | "stringData" if self.is_kubernetes_secret => Some(NameKind::Chosen),
            "d" | "k" | "p" | "q" | "dp" | "dq" | "qi" if self.is_web_key => Some(NameKind::Made),
            _ => None,
        };
        let own = secret_name(name).or(by_others);
        match (whole, own) {
            (Some(NameKind::Weak) | None, Some(own)) => Some(own),
            (whole, _) => whole,
        }
    }
}

/// The kind of `name`, where a value under it may be a secret: `api_key`, `X-Auth-Token`,
/// `clientSecret`, `STRIPE_KEY`.
#[must_use]
pub fn secret_name(name: &str) -> Option<NameKind> {
    TABLE.kind(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_secret_by_what_their_object_says() {
        let check = |members: &[(&str, Option<&str>)],
                     whole: Option<NameKind>,
                     name: &str,
                     expect: Option<NameKind>| {
            let says = ObjectSays::of(members.iter().copied());
            assert_eq!(says.kind(name, whole), expect, "{members:?} {name}");
        };
        let (chosen, made, weak) =
            (Some(NameKind::Chosen), Some(NameKind::Made), Some(NameKind::Weak));
        let pair = [("name", Some("API_KEY")), ("value", None)];
        check(&pair, None, "value", made);
        check(&pair, None, "name", None);
        check(&[("key", Some("user_id"))], None, "value", None);
        check(&[("kind", Some("Secret"))], None, "data", chosen);
        check(&[("kind", Some("ConfigMap"))], None, "data", None);
        check(&[("kty", Some("EC"))], None, "d", made);
        check(&[("kty", Some("EC"))], None, "x", None);
        check(&[], chosen, "user", chosen);
        check(&[], chosen, "type", None);
        check(&[], chosen, "token", chosen);
        check(&[], weak, "token", made);
        check(&[], None, "STRIPE_KEY", weak);
        check(&[], None, "PRIMARY_KEY", None);
    }
}
