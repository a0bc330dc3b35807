"""The pages of publishing: Open, Columns, Job, Dial, Check, Release, Report."""
