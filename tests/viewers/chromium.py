"""chromium.py: flame graphs in a real browser: a search, a click, the way back, names that would like to be code.

usage: chromium.py FOLDER [SPEEDSCOPE]

FOLDER has names.svg, ratio.svg, deep.svg and tables beside them; screenshots go there, too. SPEEDSCOPE is the npm package of
that name, in which FOLDER's threads.json and names.json are opened.

The browser is driven through chromedriver's plain HTTP interface (W3C WebDriver); nothing but Python's library is needed."""

import base64, csv, json, os, socket, subprocess, sys, time, urllib.request

folder = os.path.abspath(sys.argv[1])
wide, high = 1200, 700


class Browser:
    def __init__(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL)
        options = {"args": ["--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={wide},{high}"]}
        wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}}
        for attempt in range(50):
            try:
                self.session = f"/session/{self.call('POST', '/session', wanted)['sessionId']}"
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)
        sys.exit("chromedriver does not answer")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def post(self, path, **body):
        return self.call("POST", self.session + path, body)

    def run(self, script, *args):
        return self.post("/execute/sync", script=script, args=list(args))

    def devtools(self, cmd, **params):
        return self.post("/goog/cdp/execute", cmd=cmd, params=params)

    def open(self, name, scheme="light", width=wide):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=high, deviceScaleFactor=1, mobile=False)
        self.post("/url", url=f"file://{folder}/{name}")

    def key(self, text):
        strokes = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self.post("/actions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def mouse(self, x, y, click):
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.post("/actions", actions=[{"type": "pointer", "id": "mouse", "actions": actions}])

    def picture(self, name):
        with open(f"{folder}/{name}.png", "wb") as to:
            to.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def close(self):
        self.call("DELETE", self.session)
        self.driver.terminate()
        self.driver.wait()


# What stands on the screen: for each frame its text, its box and how wide its text is.
BOXES = """return [...document.querySelectorAll(".frame")].map((f) => {
    const t = f.querySelector("text"), b = f.getBoundingClientRect();
    return { text: t ? t.textContent : "", hue: f.getAttribute("class"), x: b.x, y: b.y, width: b.width,
             inner: t ? t.getComputedTextLength() : 0 };
});"""


def expect(what, true, *details):
    print("ok" if true else "FAILED", what, *(() if true else details))
    expect.failed |= not true


expect.failed = False


def boxes_fit(browser, what):
    bad = [b for b in browser.run(BOXES) if b["inner"] and b["inner"] + 3 > b["width"] + 1]
    expect(f"{what}: texts fit their boxes", not bad, bad[:3])


def message(browser):
    return browser.run("return document.querySelector('.result').textContent")


def rows(name):
    with open(f"{folder}/{name}.tsv", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def one(browser, text):
    return next(b for b in browser.run(BOXES) if b["text"].startswith(text))


def ratio(b):
    b.open("ratio.svg")
    b.picture("ratio-light")
    boxes_fit(b, "ratio")
    table = rows("ratio")
    all_ms = sum(float(r["self_ms"]) for r in table)
    heavy = sum(float(r["total_ms"]) for r in table if r["fn"] == "heavy")
    b.key("/")
    b.key("HEAVY (")
    expect("search: the share of the matches", f"matched {100 * heavy / all_ms:.1f} %" in message(b), message(b))
    hits = [f for f in b.run(BOXES) if "hit" in f["hue"]]
    expect("search: matches are marked", hits and all(f["text"].startswith("heavy") for f in hits), hits)
    b.picture("ratio-search")
    b.key("\ue00c")
    expect("Escape ends the search", message(b) == "", message(b))
    b.key("/^(inner|heavy) .*:[23]\\)$/")
    expect("search by regular expression", message(b).startswith("matched "), message(b))
    b.key("\ue00c")
    b.key("/(/")
    expect("a broken one", message(b) == "not a regular expression", message(b))
    b.key("\ue00c")
    before = one(b, "inner (ratio.rfl:2)")
    b.mouse(before["x"] + before["width"] / 2, before["y"] + 8, True)
    after = one(b, "inner (ratio.rfl:2)")
    expect("a click zooms", before["width"] < 0.99 * wide <= after["width"] + 2, before, after)
    boxes_fit(b, "zoomed")
    b.picture("ratio-zoomed")
    top = one(b, "all")
    b.mouse(top["x"] + 300, top["y"] + 8, True)
    expect("a click above zooms out", abs(one(b, "inner (ratio.rfl:2)")["width"] - before["width"]) < 1)
    b.mouse(before["x"] + before["width"] / 2, before["y"] + 8, True)
    b.key("\ue00c")
    expect("Escape zooms out", abs(one(b, "inner (ratio.rfl:2)")["width"] - before["width"]) < 1)
    b.mouse(before["x"] + before["width"] / 2, before["y"] + 8, False)
    tip = b.run("return [...document.querySelectorAll('.tip text')].map((t) => t.textContent)")
    row = next(r for r in table if r["fn"] == "inner" and r["file"] == "ratio.rfl")
    expect("a tooltip", len(tip) == 5 and tip[0] == "inner" and tip[1].startswith("ratio.rfl:") and tip[4].endswith(" samples"),
           tip, row)
    b.open("ratio.svg", "dark", 700)
    b.mouse(300, 160, False)
    b.picture("ratio-dark")
    expect("dark", b.run("return getComputedStyle(document.querySelector('.page')).fill") == "rgb(28, 28, 30)")
    boxes_fit(b, "narrow")


def deep(b):
    b.open("deep.svg", "dark")
    boxes_fit(b, "deep")
    drawn = len(b.run(BOXES))
    expect("deep: only what is on the screen is drawn", 30 < drawn < 1000, drawn)
    b.run("window.scrollTo(0, document.documentElement.getBoundingClientRect().height)")
    b.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    texts = [f["text"] for f in b.run(BOXES)]
    expect("deep: the leaf is there", any(t.startswith("d0 (deep.rfl:1)") for t in texts), texts[-5:])
    expect("deep: the head stays", abs(b.run("return document.querySelector('.head').getBoundingClientRect().y")) < 1)
    b.picture("deep-dark")
    b.open("deep.svg")
    b.picture("deep-light")


def names(b):
    b.open("names.svg", "light", 1600)
    b.run("window.boom = () => { window.went = true; }")
    boxes_fit(b, "names")
    expect("names: nothing ran", b.run("return document.scripts ? document.getElementsByTagName('script').length : 0") == 1)
    b.key("/")
    b.key("</title><script>boom()")
    expect("names: the worst is found as text", message(b).startswith("matched "), message(b))
    worst = one(b, "</title")
    b.mouse(worst["x"] + worst["width"] / 2, worst["y"] + 8, True)
    expect("names: still nothing ran", not b.run("return window.went"))
    b.picture("names-light")


# As the package's own command does it: a script hands the file to the page, whose title then is the profile's.
def speedscope(b, page, name):
    with open(f"{folder}/{name}.json", "rb") as f:
        data = base64.b64encode(f.read()).decode()
    with open(f"{folder}/{name}.load.js", "w") as to:
        to.write(f"speedscope.loadFileFromBase64({json.dumps(name + '.json')}, {json.dumps(data)})")
    b.post("/url", url="about:blank")
    b.post("/url", url=f"file://{page}#localProfilePath={folder}/{name}.load.js")
    profiles = [p["name"] for p in json.loads(base64.b64decode(data))["profiles"]]
    first = f"{profiles[0]} (1/{len(profiles)})" if len(profiles) > 1 else profiles[0]
    for attempt in range(50):
        text = b.run("return document.title + ' ' + document.body.innerText")
        if f"fakeforce {name}, pid " in text and first in text:
            break
        time.sleep(0.2)
    else:
        expect(f"speedscope: {name}", False, first, text[:300])
        return
    expect(f"speedscope: {name}", True)
    time.sleep(1)
    b.picture(f"speedscope-{name}")


browser = Browser()
try:
    ratio(browser)
    deep(browser)
    names(browser)
    if len(sys.argv) > 2:
        page = os.path.join(os.path.abspath(sys.argv[2]), "dist/release/index.html")
        speedscope(browser, page, "threads")
        speedscope(browser, page, "names")
finally:
    browser.close()
sys.exit(expect.failed)
