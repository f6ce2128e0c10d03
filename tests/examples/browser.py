"""Opens HTML pages in a headless Chromium and reads what became of them. Python's standard library only."""
import html
import html.parser
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zlib

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = unittest.skipUnless(CHROMIUM, "there is no chromium here; on Debian: apt-get install chromium")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Element:
    def __init__(self, tag, attributes, parent):
        self.tag, self.attributes, self.parent, self.children = tag, dict(attributes), parent, []

    def __getitem__(self, name):
        return self.attributes[name]

    def all(self):
        """The elements within."""
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.all()

    def find(self, tag=None, **attributes):
        """The elements within that have these attributes (data_cell for data-cell); one that is None may have any value."""
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [one for one in self.all() if (tag is None or one.tag == tag) and
                all(name in one.attributes and value in (None, one[name]) for name, value in wanted.items())]

    def text(self):
        return "".join(child.text() if isinstance(child, Element) else child for child in self.children)


class _Builder(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = self.at = Element("", {}, None)

    def handle_starttag(self, tag, attributes):
        element = Element(tag, attributes, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag, attributes):
        self.at.children.append(Element(tag, attributes, self.at))

    def handle_endtag(self, tag):
        if tag not in VOID:
            self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)


class Image:
    """A PNG of 8 bits a channel, as screenshots are. rows[y] has the bytes of a line."""

    def __init__(self, data):
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            length, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + length]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
                assert depth == 8 and colour in (2, 6) and not interlaced
            elif kind == b"IDAT":
                packed += body
            at += 12 + length
        self.channels = 3 if colour == 2 else 4
        self.rows = self._lines(zlib.decompress(packed))

    def _lines(self, raw):
        size, step, rows = self.width * self.channels, self.channels, []
        above = bytearray(size)
        for y in range(self.height):
            at = y * (size + 1)
            line = bytearray(raw[at + 1:at + 1 + size])
            _unfilter(raw[at], line, above, step)
            rows.append(line)
            above = line
        return rows

    def colours(self, left, top, right, bottom):
        """How many pixels of a rectangle have each colour, by (red, green, blue)."""
        counts = {}
        for row in self.rows[max(0, int(top)):int(bottom)]:
            for x in range(max(0, int(left)), min(self.width, int(right))):
                colour = tuple(row[x * self.channels:x * self.channels + 3])
                counts[colour] = counts.get(colour, 0) + 1
        return counts


def _unfilter(kind, line, above, step):
    """Undoes a line's filter in place (PNG specification, section 9)."""
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        for i, up in enumerate(above):
            line[i] = (line[i] + up) & 255
    elif kind == 3:
        for i, up in enumerate(above):
            line[i] = (line[i] + ((line[i - step] if i >= step else 0) + up) // 2) & 255
    elif kind == 4:
        for i, up in enumerate(above):
            left, corner = (line[i - step], above[i - step]) if i >= step else (0, 0)
            guess = left + up - corner
            to_left, to_up, to_corner = abs(guess - left), abs(guess - up), abs(guess - corner)
            nearest = left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner
            line[i] = (line[i] + nearest) & 255


def framed(page, width):
    """The page in a frame of a width below that of a window, which is 500 pixels or more. What scripts put into its body's
    data attributes is in those of the outer body."""
    return f"""<!doctype html><body><iframe style="border: 0; width: {width}px; height: 900px" srcdoc="{html.escape(page)}"></iframe>
        <script>onload = () => Object.assign(document.body.dataset, frames[0].document.body.dataset);</script></body>"""


class Opened:
    """A page after its scripts: `root`, the elements; `console`, what it wrote there; `image`, if it was asked for."""

    def __init__(self, page, fragment="", script="", window=(1400, 1000), image=False, dark=False):
        page = page.replace("</body>", f"<script>{script}</script></body>") if script else page
        if window[0] < 500:
            page = framed(page, window[0])
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path, picture = folder / "page.html", folder / "page.png"
            path.write_text(page, encoding="utf-8")
            output = [f"--screenshot={picture}"] if image else ["--dump-dom"]
            done = subprocess.run(
                [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr", "--v=0", "--hide-scrollbars",
                 "--force-color-profile=srgb", f"--user-data-dir={folder}/profile", f"--window-size={window[0]},{window[1]}",
                 f"--blink-settings=preferredColorScheme={0 if dark else 1}", *output, f"{path.as_uri()}{fragment}"],
                capture_output=True, timeout=180)
            errors = done.stderr.decode(errors="replace")
            assert done.returncode == 0, errors
            self.console = re.findall(r"^.*:CONSOLE.*$", errors, re.MULTILINE)
            self.image = Image(picture.read_bytes()) if image else None
        builder = _Builder()
        builder.feed(done.stdout.decode())
        self.root = builder.root
