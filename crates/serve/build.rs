//! Generates the code of the gRPC services from their `.proto` files, without the program `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "grpc")]
    grpc::generate()?;
    Ok(())
}

#[cfg(feature = "grpc")]
mod grpc {
    use std::path::{Path, PathBuf};

    const PROTO_FILES: [&str; 2] = ["rulec/v1/rulec.proto", "envoy/service/auth/v3/external_auth.proto"];

    /// Generates the descriptors and the server code for the library, and the client code for its
    /// tests.
    pub fn generate() -> Result<(), Box<dyn std::error::Error>> {
        println!("cargo::rerun-if-changed=proto");
        let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
        let mut compiler = protox::Compiler::new(["proto"])?;
        compiler.include_imports(true).include_source_info(true).open_files(PROTO_FILES)?;
        std::fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
        for (folder, is_server) in [("server", true), ("client", false)] {
            let folder = out.join(folder);
            std::fs::create_dir_all(&folder)?;
            builder(&folder, is_server).compile_fds(compiler.file_descriptor_set())?;
        }
        Ok(())
    }

    fn builder(folder: &Path, is_server: bool) -> tonic_prost_build::Builder {
        tonic_prost_build::configure()
            .build_server(is_server)
            .build_client(!is_server)
            // The type `Bytes` for these fields spares copies of large messages and answers.
            .bytes(".rulec.v1")
            .include_file("all.rs")
            .out_dir(folder)
    }
}
