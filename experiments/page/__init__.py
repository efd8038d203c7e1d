"""What people read: report.html, docs/results.md, docs/claims.md, the terminal."""
