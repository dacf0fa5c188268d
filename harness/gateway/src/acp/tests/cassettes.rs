//! Every recorded run, for clients with and without terminals.

use std::path::Path;

use super::random::IndependentClient;
use super::*;

#[test]
pub(crate) fn a1_a_client_can_follow_every_recorded_run() {
    let cassettes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cassettes");
    let folders = |dir: &Path| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let versions = folders(&cassettes).flat_map(|scenario| folders(&scenario).collect::<Vec<_>>());
    let mut updates = 0;
    for path in versions.map(|version| version.join("stdout.jsonl")) {
        let stdout = std::fs::read(&path).unwrap();
        for terminal in [false, true] {
            let mut converter = AcpConverter::new(settings(terminal));
            let mut client = IndependentClient::default();
            for update in convert(&mut converter, published_bytes(&stdout)) {
                client.take(&update);
                updates += 1;
            }
            assert!(client.all_ended(), "{}", path.display());
            assert!(converter.turn_end().is_some(), "{}", path.display());
        }
    }
    assert!(updates > 500, "{updates} updates");
}
