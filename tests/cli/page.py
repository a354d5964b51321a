"""What the reports' tests look at in a page."""
import html.parser

VOID = {'meta', 'br', 'rect', 'path', 'circle'}


class Page(html.parser.HTMLParser):
    """What a page is made of, what it asks from outside, and whether each element is closed where it should be."""

    def __init__(self, text):
        super().__init__()
        self.open, self.wrong, self.tags, self.ids, self.asks, self.rows = [], [], [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == 'id':
                self.ids.append(value)
            if name in ('src', 'href', 'srcset', 'action', 'data') or name.startswith('on'):
                self.asks.append((tag, name, value))
        self.rows += tag == 'tr'
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:  # a bar of a drawing holds its title
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))
