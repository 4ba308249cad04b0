//! TLS settings from a certificate file and a key file. When the files change, new connections use
//! the new certificate without a restart.

use crate::rules::StartError;
use arc_swap::ArcSwap;
use rulec::Message;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// The paths of the certificate chain and of the private key, and the TLS settings that were
/// created from these files.
pub(super) struct TlsFiles {
    certificate_chain_file: PathBuf,
    private_key_file: PathBuf,
    config: ArcSwap<ServerConfig>,
    /// The content of both files when they were last read, to detect changes.
    last_read: Mutex<PemFiles>,
}

/// The bytes of the certificate file and of the key file.
#[derive(PartialEq, Eq)]
struct PemFiles {
    certificate_chain: Vec<u8>,
    private_key: Vec<u8>,
}

impl TlsFiles {
    /// Reads both files and creates the TLS settings.
    ///
    /// # Errors
    /// If a file cannot be read, or the key does not belong to the certificate.
    pub fn read(chain: PathBuf, key: PathBuf) -> Result<TlsFiles, StartError> {
        let content = PemFiles::read(&chain, &key)?;
        let config = ArcSwap::from_pointee(content.to_config(&chain, &key)?);
        Ok(TlsFiles {
            certificate_chain_file: chain,
            private_key_file: key,
            config,
            last_read: Mutex::new(content),
        })
    }

    /// Reads both files again. If their content has changed, new connections use the new content.
    ///
    /// # Errors
    /// As [`TlsFiles::read`]. New connections then use the old settings.
    pub fn reload(&self) -> Result<(), StartError> {
        let content = PemFiles::read(&self.certificate_chain_file, &self.private_key_file)?;
        let mut known = self.last_read.lock().unwrap_or_else(PoisonError::into_inner);
        if content != *known {
            self.config
                .store(Arc::new(content.to_config(&self.certificate_chain_file, &self.private_key_file)?));
            *known = content;
        }
        Ok(())
    }

    /// Begins the TLS handshake of a new connection, with the current TLS settings.
    pub fn accept(&self, stream: TcpStream) -> Accept<TcpStream> {
        TlsAcceptor::from(self.config.load_full()).accept(stream)
    }
}

fn file_error(path: &Path, why: String) -> StartError {
    StartError::File(path.to_owned(), Message::verbatim(why))
}

impl PemFiles {
    fn read(chain: &Path, key: &Path) -> Result<PemFiles, StartError> {
        let read = |path: &Path| std::fs::read(path).map_err(|error| file_error(path, error.to_string()));
        Ok(PemFiles { certificate_chain: read(chain)?, private_key: read(key)? })
    }

    /// Creates the TLS settings. The paths `chain` and `key` appear only in errors.
    fn to_config(&self, chain: &Path, key: &Path) -> Result<ServerConfig, StartError> {
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(&self.certificate_chain).collect();
        let certificates = certificates.map_err(|error| file_error(chain, error.to_string()))?;
        let private_key = PrivateKeyDer::from_pem_slice(&self.private_key);
        let private_key = private_key.map_err(|error| file_error(key, error.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| file_error(chain, error.to_string()))?
            .with_no_client_auth()
            .with_single_cert(certificates, private_key);
        let mut config = config.map_err(|error| file_error(key, error.to_string()))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_files_keep_the_tls_settings() {
        let folder = tempfile::tempdir().expect("a folder");
        let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        let write = || {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
            std::fs::write(&key, made.signing_key.serialize_pem()).expect("it can be written");
            std::fs::write(&chain, made.cert.pem()).expect("it can be written");
        };
        write();
        let files = TlsFiles::read(chain.clone(), key.clone()).expect("a certificate");
        let first = files.config.load_full();
        files.reload().expect("a certificate");
        assert!(Arc::ptr_eq(&first, &files.config.load_full()));
        write();
        files.reload().expect("a certificate");
        assert!(!Arc::ptr_eq(&first, &files.config.load_full()));
    }
}
