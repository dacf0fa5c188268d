//! A certificate authority that is made for one run, so that a gateway trusts the chat server under the name of the Bot
//! API.
//!
//! Its key stays in the memory of this process. The certificates are written into the folder of the run, and the
//! gateway is the only program that gets variables which name them.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clitape_recording::files;
use fs_err as fs;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The files in which systems keep the authorities that they trust: Debian, Fedora, SUSE, Alpine and macOS.
pub(super) const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// A certificate authority for one run.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// The files that make a program trust an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityFiles {
    /// The certificate of the authority alone, for variables that add one authority.
    pub ca: PathBuf,
    /// The machine's authorities and this one, for variables that replace the whole list.
    pub bundle: PathBuf,
}

impl AuthorityFiles {
    /// Returns the variables that make programs trust the authority: those of OpenSSL and Python, of requests, of curl,
    /// and of Node, Bun and Deno.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let all = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"];
        let all = all.into_iter().map(|name| (name.into(), self.bundle.clone().into()));
        let more = ["NODE_EXTRA_CA_CERTS", "DENO_CERT"];
        all.chain(more.into_iter().map(|name| (name.into(), self.ca.clone().into()))).collect()
    }
}

impl Authority {
    /// Makes an authority with a new key.
    ///
    /// # Errors
    ///
    /// An error if the system has no random bytes for its key.
    pub fn new() -> io::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("clitape, an authority for one run of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)?;
        Ok(Self { issuer })
    }

    /// Returns the settings of a TLS server that has a certificate for these host names and speaks HTTP/1.1.
    ///
    /// # Errors
    ///
    /// An error if a name can't be in a certificate, or if the system has no random bytes for the key.
    pub fn server_config(&self, names: &[&str]) -> io::Result<Arc<ServerConfig>> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let first = names.first().cloned().unwrap_or_default();
        let mut params = CertificateParams::new(names).map_err(io::Error::other)?;
        params.distinguished_name = name(&first);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        // Python 3.13 and later refuse a certificate without this field.
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// Writes `ca.pem` and `bundle.pem` into a folder. On a machine without authorities, the bundle has this one alone.
    ///
    /// # Errors
    ///
    /// An error if a file can't be written.
    pub fn write(&self, folder: &Path) -> io::Result<AuthorityFiles> {
        let own = self.issuer.pem();
        let machine = BUNDLES.iter().find_map(|path| files::read_named(Path::new(path)).ok());
        let mut bundle = machine.unwrap_or_default();
        if !bundle.is_empty() && !bundle.ends_with(b"\n") {
            bundle.push(b'\n');
        }
        bundle.extend_from_slice(own.as_bytes());
        let paths = AuthorityFiles { ca: folder.join("ca.pem"), bundle: folder.join("bundle.pem") };
        fs::write(&paths.ca, own)?;
        fs::write(&paths.bundle, bundle)?;
        Ok(paths)
    }
}

/// Returns a distinguished name that has a common name only.
fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}
