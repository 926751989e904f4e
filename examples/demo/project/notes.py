"""A few notes in memory, and how they look as a page."""

import html


class Notes:
    def __init__(self, texts=()):
        self._texts = list(texts)

    def add(self, text):
        text = text.strip()
        if not text:
            raise ValueError("an empty note")
        self._texts.append(text)

    def __len__(self):
        return len(self._texts)

    def page(self):
        rows = "".join(f"<li>{html.escape(text)}</li>" for text in self._texts)
        return f"<!doctype html><title>Notes</title><ul>{rows}</ul>\n"
