//! Derives element types for records and enums of the embedded language
