//! What editors are told.
