//! Answers requests for semantic tokens, by which an editor colours a document: all tokens, the
//! tokens of a range, or the difference from an earlier answer. After an edit of a large document,
//! the difference is much smaller than all tokens.

use super::answers::{Answer, find_file};
use super::capabilities::encode_token_class;
use super::workspace::{AnalyzedFile, Workspace, path_of};
use ls_types::*;
use rulec::FileId;
use rulec_ide::tokens;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops;

/// Number of integers with which the protocol encodes a token.
const INTEGERS_PER_TOKEN: u32 = 5;

/// Returns the semantic tokens that begin within a range of byte offsets, as the protocol encodes
/// them.
fn tokens_in_range(
    analyzed_file: &AnalyzedFile,
    file: FileId,
    range: ops::RangeInclusive<u32>,
) -> Vec<SemanticToken> {
    let text = analyzed_file.analysis.text(file);
    let lines = analyzed_file.lines(file);
    let mut cursor = lines.cursor();
    let (mut data, mut previous) = (Vec::new(), Position { line: 0, character: 0 });
    let coloured = tokens::coloured_tokens(file, text, &analyzed_file.analysis.index);
    let visible = coloured.into_iter().filter(|token| range.contains(&token.span.start));
    for token in visible {
        // The protocol has no tokens that span several lines, so such a token is reported line by
        // line.
        let mut start = token.span.start;
        for part in text[token.span.range()].split_inclusive('\n') {
            let position = cursor.advance_to(start);
            start += part.len() as u32;
            let length = part.trim_end_matches(['\n', '\r']).encode_utf16().count() as u32;
            let (token_type, token_modifiers_bitset) = encode_token_class(token.class, token.is_declaration);
            if length > 0 {
                let delta_line = position.line - previous.line;
                let delta_start = if delta_line == 0 {
                    position.character - previous.character
                } else {
                    position.character
                };
                data.push(SemanticToken {
                    delta_line,
                    delta_start,
                    length,
                    token_type,
                    token_modifiers_bitset,
                });
                previous = position;
            }
        }
    }
    data
}

/// Returns an id for a list of semantic tokens, by which a later request refers to it. Equal lists
/// have equal ids.
fn token_list_id(data: &[SemanticToken]) -> String {
    let mut hasher = DefaultHasher::new();
    for token in data {
        (token.delta_line, token.delta_start, token.length).hash(&mut hasher);
        (token.token_type, token.token_modifiers_bitset).hash(&mut hasher);
    }
    format!("{:x}", hasher.finish())
}

pub fn all_tokens(
    workspace: &Workspace,
    params: SemanticTokensParams,
) -> Answer<Option<SemanticTokensResult>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let data = tokens_in_range(&analyzed_file, file, 0..=u32::MAX);
    let id = token_list_id(&data);
    let path = path_of(&params.text_document.uri);
    workspace.sent_tokens().insert(path, (id.clone(), data.clone()));
    Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: Some(id), data })))
}

pub fn tokens_of_range(
    workspace: &Workspace,
    params: SemanticTokensRangeParams,
) -> Answer<Option<SemanticTokensRangeResult>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let lines = analyzed_file.lines(file);
    let range = lines.offset(params.range.start)..=lines.offset(params.range.end);
    let data = tokens_in_range(&analyzed_file, file, range);
    Ok(Some(SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data })))
}

/// Returns the difference between the semantic tokens of a document and the tokens of an earlier
/// answer. If the server no longer has that answer, returns all tokens.
pub fn changed_tokens(
    workspace: &Workspace,
    params: SemanticTokensDeltaParams,
) -> Answer<Option<SemanticTokensFullDeltaResult>> {
    let Some((analyzed_file, file)) = find_file(workspace, &params.text_document) else { return Ok(None) };
    let data = tokens_in_range(&analyzed_file, file, 0..=u32::MAX);
    let id = token_list_id(&data);
    let path = path_of(&params.text_document.uri);
    let earlier = workspace.sent_tokens().insert(path, (id.clone(), data.clone()));
    let earlier = earlier.filter(|(earlier_id, _)| *earlier_id == params.previous_result_id);
    let Some((_, earlier)) = earlier else {
        let tokens = SemanticTokens { result_id: Some(id), data };
        return Ok(Some(SemanticTokensFullDeltaResult::Tokens(tokens)));
    };
    let edits = token_difference(&earlier, &data).into_iter().collect();
    let delta = SemanticTokensDelta { result_id: Some(id), edits };
    Ok(Some(SemanticTokensFullDeltaResult::TokensDelta(delta)))
}

/// Returns the edit that replaces the tokens between the first and the last difference. `None` if
/// there is no difference.
fn token_difference(earlier: &[SemanticToken], later: &[SemanticToken]) -> Option<SemanticTokensEdit> {
    let is_same = |(a, b): &(&SemanticToken, &SemanticToken)| a == b;
    let prefix = earlier.iter().zip(later).take_while(is_same).count();
    let (old, new) = (&earlier[prefix..], &later[prefix..]);
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(is_same).count();
    let (removed, added) = (old.len() - suffix, &new[..new.len() - suffix]);
    (removed > 0 || !added.is_empty()).then(|| SemanticTokensEdit {
        start: prefix as u32 * INTEGERS_PER_TOKEN,
        delete_count: removed as u32 * INTEGERS_PER_TOKEN,
        data: (!added.is_empty()).then(|| added.to_vec()),
    })
}
