//! Which names say that what they name is a secret.

/// Endings of secret names, written without case and separators. Plural counts such as
/// `max_tokens` are none.
const ENDINGS: [&str; 24] = [
    "accesskey",
    "accountkey",
    "apikey",
    "authkey",
    "authorization",
    "authtoken",
    "clientkey",
    "connectionstring",
    "cookie",
    "credential",
    "credentials",
    "encryptionkey",
    "masterkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "pwd",
    "secret",
    "secretkey",
    "sessionkey",
    "sharedkey",
    "signingkey",
    "token",
];

/// Names that are secret as a whole, though not as an ending.
const WHOLE: [&str; 6] = ["auth", "bearer", "jwt", "passcode", "secrets", "passwords"];

/// Endings of environment variables that hold secrets, `STRIPE_KEY`.
const ENVIRONMENT: [&str; 4] = ["KEY", "_PASS", "_PAT", "_AUTH"];

/// Query parameters that hold secrets, beside the secret names.
const QUERY: [&str; 4] = ["key", "sig", "signature", "xamzsignature"];

/// Whether a value under `name` is a secret: `api_key`, `X-Auth-Token`, `clientSecret`.
pub(super) fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    // `$PWD` and `pwd` alone are a folder far more often than a password.
    (plain != "pwd" && ENDINGS.iter().any(|ending| plain.ends_with(ending)))
        || WHOLE.contains(&plain.as_str())
}

/// Whether an assignment to `name` in a shell or a `.env` file sets a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    let is_shouted = !name.chars().any(|c| c.is_ascii_lowercase());
    is_secret(name) || (is_shouted && ENVIRONMENT.iter().any(|ending| name.ends_with(ending)))
}

/// Whether the query parameter `name` carries a secret.
pub(super) fn is_secret_parameter(name: &str) -> bool {
    is_secret(name) || QUERY.contains(&plain(name).as_str())
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether `value` only names where a secret is kept: `$TOKEN`, `${TOKEN:-}`, `$(pass show x)`.
pub(super) fn is_reference(value: &str) -> bool {
    let Some(rest) = value.strip_prefix('$') else {
        return false;
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_braced = |open: char, close: char| rest.starts_with(open) && rest.ends_with(close);
    is_braced('{', '}')
        || rest.starts_with('(')
        || (rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && rest.chars().all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(test: fn(&str) -> bool, yes: &[&str], no: &[&str]) {
        for name in yes {
            assert!(test(name), "{name} is one");
        }
        for name in no {
            assert!(!test(name), "{name} is none");
        }
    }

    #[test]
    fn b2_secret_names() {
        check(
            is_secret,
            &[
                "token",
                "api_key",
                "apiKey",
                "X-Api-Key",
                "client-secret",
                "DB_PASSWORD",
                "auth",
                "credentials",
                "Set-Cookie",
                "dbPwd",
                "aws_secret_access_key",
                "refreshToken",
            ],
            &["max_tokens", "key", "file_path", "author", "tokens", "keyboard", "pwd", "monkey"],
        );
        check(
            is_secret_variable,
            &["STRIPE_KEY", "OPENAI_API_KEY", "GH_PAT", "token"],
            &["key", "PATH", "KEYS", "COMPAT"],
        );
        check(is_secret_parameter, &["key", "sig", "X-Amz-Signature"], &["q", "keys"]);
    }

    #[test]
    fn b2_references() {
        check(
            is_reference,
            &["$TOKEN", "$token", "${TOKEN}", "${TOKEN:-x}", "$(pass show x)", "$(cat"],
            &["TOKEN", "$1cret!", "$A:b", "${A}b", "$", ""],
        );
    }
}
