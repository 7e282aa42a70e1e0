"""Hostile PDF files, written object by object."""

from __future__ import annotations

import zlib

from bbj_pipeline_tests.sources.hostile.builders import DEEP, Builder


def pdf(*objects: str | bytes, trailer: str = "") -> bytes:
    """Return a PDF of objects numbered from 1; the first one is the catalogue."""
    out = b"%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        body = content if isinstance(content, bytes) else content.encode("latin-1")
        out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()


def stream(content: bytes, extra: str = "") -> bytes:
    return f"<< /Length {len(content)} {extra} >>\nstream\n".encode() + content + b"\nendstream"


CATALOGUE = "<< /Type /Catalog /Pages 2 0 R >>"
PAGES = "<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = (
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
    " /Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >> >>"
)
FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>"
TEXT = b"BT /F1 12 Tf 72 700 Td (kept) Tj ET "


def one_page(content: bytes, extra: str = "", form: bytes | str = "null", page_object: str = PAGE, font: str = FONT) -> bytes:
    return pdf(CATALOGUE, PAGES, page_object, stream(content, extra), font, form)


def _deflated(times: int, size: int) -> bytes:
    content = b"\0" * size
    for _ in range(times):
        content = zlib.compress(content, 9)
    return content


PDF: dict[str, Builder] = {
    "a sound one": lambda: one_page(TEXT),
    "a page tree that is its own child": lambda: pdf(CATALOGUE, "<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
    "a page tree in a circle": lambda: pdf(
        CATALOGUE,
        "<< /Type /Pages /Kids [3 0 R 3 0 R] /Count 2 >>",
        "<< /Type /Pages /Parent 2 0 R /Kids [2 0 R 2 0 R] /Count 2 >>",
    ),
    "a page tree that doubles at every level": lambda: pdf(
        CATALOGUE,
        *(f"<< /Type /Pages /Kids [{n + 1} 0 R {n + 1} 0 R] /Count 2 >>" for n in range(2, 40)),
        "<< /Type /Page /MediaBox [0 0 1 1] >>",
    ),
    "a billion pages declared": lambda: pdf(
        CATALOGUE, "<< /Type /Pages /Kids [3 0 R] /Count 1000000000 >>", PAGE, stream(TEXT), FONT, "null"
    ),
    "an object that is itself": lambda: pdf(CATALOGUE, PAGES, "3 0 R"),
    "a length that is itself": lambda: pdf(
        CATALOGUE, PAGES, PAGE, b"<< /Length 4 0 R >>\nstream\nBT ET\nendstream", FONT, "null"
    ),
    "a Flate bomb": lambda: one_page(_deflated(1, 1024**3 // 2), "/Filter /FlateDecode"),
    "a Flate bomb in a Flate bomb": lambda: one_page(_deflated(2, 1024**3 // 4), "/Filter [/FlateDecode /FlateDecode]"),
    "an LZW stream of noise": lambda: one_page(bytes(range(256)) * 4_000, "/Filter /LZWDecode"),
    "a run-length bomb": lambda: one_page(b"\x81a" * 1_000_000, "/Filter /RunLengthDecode"),
    "a JBIG2 stream as content": lambda: one_page(b"\xff" * 1_000, "/Filter /JBIG2Decode"),
    "a predictor of a billion columns": lambda: one_page(
        zlib.compress(b"\2" * 1_000), "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 999999999 >>"
    ),
    "forms that draw themselves": lambda: one_page(
        TEXT + b"/X Do ",
        form=stream(TEXT + b"/X Do " * 50, "/Type /XObject /Subtype /Form /Resources << /XObject << /X 6 0 R >> >>"),
    ),
    "nested arrays": lambda: one_page(TEXT + b"[" * 100_000),
    "nested dictionaries": lambda: pdf(CATALOGUE, PAGES, PAGE, stream(TEXT), "<< /A " * DEEP + ">>" * DEEP, "null"),
    "numbers without measure": lambda: one_page(
        b"BT /F1 1e38 Tf 1e38 0 0 1e38 1e38 1e38 Tm (kept) Tj 99999999999999999999999999 0 Td (more) Tj ET"
    ),
    "a matrix of zeros": lambda: one_page(b"0 0 0 0 0 0 cm " + TEXT),
    "a page without measure": lambda: one_page(
        TEXT, page_object=PAGE.replace("[0 0 612 792]", "[0 0 " + "9" * 400 + " -" + "9" * 400 + "]")
    ),
    "a page of no size": lambda: one_page(TEXT, page_object=PAGE.replace("[0 0 612 792]", "[0 0 0 0]")),
    "a page box of the wrong type": lambda: one_page(TEXT, page_object=PAGE.replace("[0 0 612 792]", "(x)")),
    "font widths of the wrong type": lambda: one_page(
        TEXT, font="<< /Type /Font /Subtype /TrueType /BaseFont /X /FirstChar (a) /Widths [null (x) 1e30] >>"
    ),
    "a ToUnicode map without measure": lambda: pdf(
        CATALOGUE,
        PAGES,
        PAGE,
        stream(TEXT),
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /ToUnicode 6 0 R >>",
        stream(b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00000000> <ffffffff> <0000> endbfrange"),
    ),
    "zero bytes and half pairs": lambda: one_page(b"BT /F1 12 Tf 72 700 Td (a\\000b kept \\377\\376\\330\\000) Tj ET"),
    "twenty thousand texts": lambda: one_page(b"BT /F1 12 Tf 72 700 Td " + b"(kept) Tj 0 -1 Td " * 20_000 + b"ET"),
    "an outline in a circle": lambda: pdf(
        "<< /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >>",
        PAGES,
        PAGE,
        stream(TEXT),
        FONT,
        "<< /First 7 0 R /Last 7 0 R >>",
        "<< /Title (x) /Dest [3 0 R /Fit] /Next 7 0 R /First 6 0 R >>",
    ),
    "a cross-reference in a circle": lambda: pdf(CATALOGUE, PAGES, PAGE, stream(TEXT), FONT, "null", trailer="/Prev 9"),
    "encrypted by nonsense": lambda: pdf(
        CATALOGUE, PAGES, PAGE, stream(TEXT), FONT, "null", trailer="/Encrypt << /Filter /X /V 99 >>"
    ),
    "no root": lambda: pdf("null"),
    "a header alone": lambda: b"%PDF-1.7",
    "empty": lambda: b"",
    "10 MB of nothing": lambda: b"%PDF-1.7\n" + b"\0" * 10_000_000,
    "2 MB of object headers": lambda: b"%PDF-1.7\n" + b"1 0 obj\n" * 250_000,
}
