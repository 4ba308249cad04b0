//! The capabilities that the server reports to the editor at startup, and the capabilities of the
//! editor that the server uses.

use super::pages::EXPLAIN_COMMAND;
use ls_types::*;
use rulec_ide::tokens::TokenClass;

/// The command that runs a test. Its arguments are the document's URI and the name of the test.
pub const RUN_TEST_COMMAND: &str = "rulec.runTest";

/// The command that adds a test for the route at a position. Its arguments are the document's URI
/// and the position.
pub const ADD_TEST_COMMAND: &str = "rulec.addTest";

/// The semantic token types that the server uses, in the order of [`TokenClass`].
fn token_types() -> Vec<SemanticTokenType> {
    vec![
        SemanticTokenType::COMMENT,
        SemanticTokenType::COMMENT,
        SemanticTokenType::STRING,
        SemanticTokenType::NUMBER,
        SemanticTokenType::KEYWORD,
        SemanticTokenType::OPERATOR,
        SemanticTokenType::FUNCTION,
        SemanticTokenType::VARIABLE,
        SemanticTokenType::PARAMETER,
        SemanticTokenType::PROPERTY,
        SemanticTokenType::TYPE,
        SemanticTokenType::CLASS,
        SemanticTokenType::METHOD,
    ]
}

/// Returns a token class as the Language Server Protocol encodes it: the number of its semantic
/// token type, and a bit set of modifiers. `declares` is true for a token that declares a name.
pub fn encode_token_class(class: TokenClass, declares: bool) -> (u32, u32) {
    let is_documentation = class == TokenClass::Documentation;
    (class as u32, u32::from(declares) | u32::from(is_documentation) << 1)
}

pub fn capabilities() -> ServerCapabilities {
    let legend = SemanticTokensLegend {
        token_types: token_types(),
        token_modifiers: vec![SemanticTokenModifier::DECLARATION, SemanticTokenModifier::DOCUMENTATION],
    };
    ServerCapabilities {
        position_encoding: Some(PositionEncodingKind::UTF16),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::INCREMENTAL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([".", ">", "@", "(", "\""].map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        type_definition_provider: Some(TypeDefinitionProviderCapability::Simple(true)),
        document_link_provider: Some(DocumentLinkOptions {
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        selection_range_provider: Some(SelectionRangeProviderCapability::Simple(true)),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(["(", ","].map(str::to_owned).to_vec()),
            ..SignatureHelpOptions::default()
        }),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        document_formatting_provider: Some(OneOf::Left(true)),
        document_range_formatting_provider: Some(OneOf::Left(true)),
        document_on_type_formatting_provider: Some(DocumentOnTypeFormattingOptions {
            first_trigger_character: "}".to_owned(),
            more_trigger_character: Some(vec!["\n".to_owned()]),
        }),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: [RUN_TEST_COMMAND, EXPLAIN_COMMAND, ADD_TEST_COMMAND].map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        semantic_tokens_provider: Some(SemanticTokensServerCapabilities::SemanticTokensOptions(
            SemanticTokensOptions {
                legend,
                full: Some(SemanticTokensFullOptions::Delta { delta: Some(true) }),
                range: Some(true),
                ..SemanticTokensOptions::default()
            },
        )),
        // The server pushes diagnostics itself. If this field were set, some editors would also
        // pull them and show each one twice. Pull requests are answered nevertheless.
        diagnostic_provider: None,
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            ..WorkspaceServerCapabilities::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// True if the editor can notify the server of file changes on disk.
pub fn can_watch_files(editor: &ClientCapabilities) -> bool {
    let workspace = editor.workspace.as_ref();
    let watched = workspace.and_then(|workspace| workspace.did_change_watched_files);
    watched.and_then(|watched| watched.dynamic_registration) == Some(true)
}

/// True if the server can ask the editor to request code lenses again.
pub fn can_refresh_lenses(editor: &ClientCapabilities) -> bool {
    let lenses = editor.workspace.as_ref().and_then(|workspace| workspace.code_lens.as_ref());
    lenses.and_then(|lenses| lenses.refresh_support) == Some(true)
}

/// True if the editor accepts completion items with placeholders.
pub fn can_insert_snippets(editor: &ClientCapabilities) -> bool {
    let document = editor.text_document.as_ref();
    let completion = document.and_then(|document| document.completion.as_ref());
    let item = completion.and_then(|completion| completion.completion_item.as_ref());
    item.and_then(|item| item.snippet_support) == Some(true)
}
