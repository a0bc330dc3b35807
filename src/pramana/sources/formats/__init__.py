"""Files as people have them: packed texts in any encoding, survey files, workbooks; and how values stand there."""
