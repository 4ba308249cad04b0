//! TLS with a certificate and a key from files, which are read again when they change.

use crate::rules::StartError;
use arc_swap::ArcSwap;
use rulec::Message;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::{Accept, TlsAcceptor};

/// The files of the certificate chain and of the private key, with the settings made from them.
pub(super) struct TlsFiles {
    chain: PathBuf,
    key: PathBuf,
    config: ArcSwap<ServerConfig>,
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// If a file cannot be read, or the key does not belong to the certificate.
    pub fn read(chain: PathBuf, key: PathBuf) -> Result<TlsFiles, StartError> {
        let config = ArcSwap::from_pointee(read_config(&chain, &key)?);
        Ok(TlsFiles { chain, key, config })
    }

    /// Reads the files again. New connections then use the new certificate.
    ///
    /// # Errors
    /// As [`TlsFiles::read`]. The old certificate is then kept.
    pub fn reload(&self) -> Result<(), StartError> {
        self.config.store(Arc::new(read_config(&self.chain, &self.key)?));
        Ok(())
    }

    /// Begins the handshake of a new connection.
    pub fn accept(&self, stream: TcpStream) -> Accept<TcpStream> {
        TlsAcceptor::from(self.config.load_full()).accept(stream)
    }
}

fn read_config(chain: &Path, key: &Path) -> Result<ServerConfig, StartError> {
    let to_error = |path: &Path, why: String| StartError::File(path.to_owned(), Message::verbatim(why));
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(chain).and_then(|certificates| certificates.collect());
    let certificates = certificates.map_err(|error| to_error(chain, error.to_string()))?;
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| to_error(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| to_error(chain, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(certificates, private_key);
    let mut config = config.map_err(|error| to_error(key, error.to_string()))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
