"""The page in a real browser: it draws, it answers, and it asks for nothing."""

import json

import pytest

from tests.report.page.instances import NASTY, change_json, content_of, make_results, write_json
from tiercut.fleet import build_fleet
from tiercut.report.page.build import build_page
from tiercut.seeds import Seeds
from tiercut.units import show_size, show_time

MOST_BYTES = 8_000_000
PHONE = {"width": 375, "height": 812, "deviceScaleFactor": 2, "mobile": True}


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(build_page(content_of(results)))
    return path


@pytest.fixture
def shown(driver, page):
    """The page as it is when it is opened on a desk."""
    return open_page(driver, page)


def open_page(driver, path, dark=False, phone=False):
    from selenium.webdriver.support.ui import WebDriverWait

    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [theme, still]})
    # Nothing hears of a focus in a window that has none, as one without a screen may.
    driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    if phone:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    else:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(path.as_uri())
    driver.execute_script("try { localStorage.clear() } catch {}")
    ready = "return performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
    WebDriverWait(driver, 10).until(lambda d: d.execute_script(ready))
    return driver


def all_of(driver, selector):
    return driver.find_elements("css selector", selector)


def one(driver, selector):
    return driver.find_element("css selector", selector)


def click(driver, selector):
    driver.execute_script("arguments[0].click()", one(driver, selector))


def bring(driver, element):
    """Scroll to an element, and wait until the page has noticed."""
    driver.execute_async_script(
        "arguments[0].scrollIntoView({block: 'center'});"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(arguments[1], 50)))",
        element,
    )


def tip(driver):
    found = one(driver, "#tip")
    return found.get_property("textContent") if found.is_displayed() else None


def colour(driver, selector="body"):
    return driver.execute_script(
        "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor", selector
    )


def requests(driver):
    """Everything that the page asked for since it was opened, itself left out."""
    said = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in said if m["method"] == "Network.requestWillBeSent"]
    # The browser's own first page may still ask for something.
    urls = [one["request"]["url"] for one in sent if one["documentURL"].startswith("file:")]
    return [url for url in urls if not url.startswith(("file:", "data:"))]


def scrolls_sideways(driver):
    return driver.execute_script(
        "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )


# ------------------------------------------------------------------------------------ the page


def test_it_draws_everything_without_errors_and_without_the_network(shown):
    assert len(all_of(shown, "#curves .line")) == 3
    assert len(all_of(shown, "#curves .band-of")) == 3
    assert len(all_of(shown, "#graph .node")) == 12
    assert len(all_of(shown, "#batch [data-tip]")) > 20
    assert len(all_of(shown, "#spread .cell")) == 9
    assert shown.get_log("browser") == []
    assert requests(shown) == []


def test_it_is_light(page):
    assert page.stat().st_size < MOST_BYTES / 16


def test_a_fleet_of_the_papers_size_stays_light(driver, tmp_path):
    schemes = ("sfl", "multihop", "locsfl", "dtfl", "aa-hsfl-ll")
    large = {"clients": 100, "rates": ["20 Mbps", "25 Mbps"]}
    folder = make_results(
        tmp_path / "results",
        schemes,
        model={"name": "vgg11"},
        fleet=large,
        training={"rounds": 60},
        plan={"cost": "paper", "cuts": [7, 8]},
    )
    path = tmp_path / "report.html"
    path.write_text(build_page(content_of(folder)))
    assert path.stat().st_size < 500_000
    open_page(driver, path)
    assert len(all_of(driver, "#graph .node")) == 100
    assert driver.get_log("browser") == []


def test_numbers_are_written_as_everywhere_else(shown):
    times = [0.0005, 0.02, 0.9994, 0.9996, 1.5, 119.9, 120, 3599.6, 7199, 7300, 86400.0]
    sizes = [0, 12, 999.9, 999.96, 1e3, 123456, 1.5e6, 2.345678e9, 4e12, 1e15]
    assert shown.execute_script("return arguments[0].map(showTime)", times) == [
        show_time(value) for value in times
    ]
    assert shown.execute_script("return arguments[0].map(showSize)", sizes) == [
        show_size(value) for value in sizes
    ]


# ----------------------------------------------------------------------------------- controls


def test_targets_that_are_near_each_other_are_named_side_by_side(driver, copy, tmp_path):
    def draw_near(summary):
        (some, *_) = summary["schemes"].values()
        highest = max(some["curve"]["accuracy"]["mean"])
        summary["targets"] = [0.5 * highest, 0.99 * highest, highest]

    change_json(copy / "summary.json", draw_near)
    path = tmp_path / "near.html"
    path.write_text(build_page(content_of(copy)))
    open_page(driver, path, phone=True)
    names = [each.rect for each in all_of(driver, "#curves .halo") if "target" in each.text]
    far, *near = (each["x"] for each in names)
    assert far == near[0] < near[1]
    assert near[1] >= near[0] + names[1]["width"]
    assert not scrolls_sideways(driver)


def test_the_axis_can_be_switched(shown):
    def drawn():
        return one(shown, "#curves .line").get_attribute("d"), one(shown, "#curves").text

    by_time, says = drawn()
    assert "virtual time" in says
    click(shown, "input[value=bytes]")
    by_bytes, says = drawn()
    assert "bytes over all links" in says
    assert "MB" in says
    click(shown, "input[value=round]")
    by_round, says = drawn()
    assert says.splitlines()[-1] == "round" or "\nround" in says
    assert len({by_time, by_bytes, by_round}) == 3


def test_schemes_can_be_hidden_and_shown(shown):
    click(shown, "#curves-legend [data-scheme=sfl]")
    assert len(all_of(shown, "#curves .line")) == 2
    assert one(shown, "#curves-legend [data-scheme=sfl]").get_attribute("aria-pressed") == "false"
    for name in ("locsfl", "aa-hsfl-ll"):
        click(shown, f"#curves-legend [data-scheme={name}]")
    assert all_of(shown, "#curves .line") == []
    click(shown, "#curves-legend [data-scheme=sfl]")
    assert len(all_of(shown, "#curves .line")) == 1
    assert shown.get_log("browser") == []


def test_the_pointer_and_the_keyboard_read_values(shown):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    chart = one(shown, "#curves")
    bring(shown, chart)
    ActionChains(shown).move_to_element(chart).perform()
    assert "AA HSFL-ll" in tip(shown)
    assert "% to " in tip(shown)
    chart.send_keys(Keys.ARROW_RIGHT)
    chart.send_keys(Keys.ARROW_RIGHT)
    chart.send_keys(Keys.ARROW_LEFT)
    assert "SFL" in one(shown, "#curves-live").get_property("textContent")
    chart.send_keys(Keys.ESCAPE)
    assert tip(shown) is None


def test_the_fleet_of_another_scheme_can_be_chosen(shown):
    def places():
        return [node.get_attribute("style") for node in all_of(shown, "#graph .node")]

    grouped, rings = places(), len(all_of(shown, "#graph .ring"))
    assert rings > 0
    assert "aggregate for the others" in one(shown, "#graph-says").text
    click(shown, "#graph-choice input[value=sfl]")
    assert "each talks to the server itself" in one(shown, "#graph-says").text
    assert all_of(shown, "#graph .ring") == []
    assert places() != grouped


def test_a_client_tells_its_throughput_rate_and_models(shown):
    node = one(shown, "#graph .node:has(.ring)")
    shown.execute_script("arguments[0].focus()", node)
    for fact in ("aggregator of", "FLOP/s", "bps to the server", "hosts layers"):
        assert fact in tip(shown)
    assert len(all_of(shown, "#graph .node.dim")) > 0


def test_the_arrow_keys_lead_from_client_to_client(shown):
    from selenium.webdriver.common.keys import Keys

    first = one(shown, "#graph .node[tabindex='0']")
    shown.execute_script("arguments[0].focus()", first)
    first.send_keys(Keys.ARROW_RIGHT)
    assert shown.switch_to.active_element != first
    assert len(all_of(shown, "#graph .node[tabindex='0']")) == 1


def test_the_timeline_of_another_scheme_can_be_chosen_and_zoomed(shown):
    def axis():
        return [text.text for text in all_of(shown, "#batch text") if text.text.endswith("s")]

    assert "AA HSFL-ll takes" in one(shown, "#batch-says").text
    assert len(all_of(shown, "#batch .edge")) > 3
    before = axis()
    click(shown, "#batch-in")
    zoomed = axis()
    assert zoomed != before
    click(shown, "#batch-all")
    assert axis() == before
    one(shown, "#batch").send_keys("+")
    assert axis() == zoomed
    click(shown, "#batch-choice input[value=locsfl]")
    assert "LocSFL takes" in one(shown, "#batch-says").text
    assert "Critical path: FP" in one(shown, "#batch").get_attribute("aria-label")


def test_the_timeline_can_be_dragged(shown):
    from selenium.webdriver.common.action_chains import ActionChains

    chart = one(shown, "#batch")
    bring(shown, chart)
    click(shown, "#batch-in")
    before = one(shown, "#batch svg").get_attribute("innerHTML")
    ActionChains(shown).move_to_element(chart).click_and_hold().move_by_offset(
        120, 0
    ).release().perform()
    assert one(shown, "#batch svg").get_attribute("innerHTML") != before


def test_dark_follows_the_system_and_the_button_turns_it_over(driver, page):
    light = colour(open_page(driver, page))
    dark = colour(open_page(driver, page, dark=True))
    assert light != dark
    assert one(driver, "#theme").get_attribute("aria-pressed") == "true"
    click(driver, "#theme")
    assert colour(driver) == light
    driver.get(page.as_uri())  # the choice is kept
    assert colour(driver) == light
    driver.execute_script("localStorage.clear()")


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_a_phone(driver, page, dark):
    open_page(driver, page, dark=dark, phone=True)
    assert driver.execute_script("return innerWidth") == 375
    assert not scrolls_sideways(driver)
    for scheme in ("sfl", "aa-hsfl-ll"):
        click(driver, f"#graph-choice input[value={scheme}]")
        click(driver, f"#batch-choice input[value={scheme}]")
        assert not scrolls_sideways(driver)


def test_everything_that_can_be_used_has_a_name(shown):
    unnamed = """
      return [...document.querySelectorAll('button, input, [tabindex], [role=img]')].filter((e) =>
        !(e.getAttribute('aria-label') || e.textContent.trim() || e.querySelector('[aria-label]')
          || e.closest('label')?.textContent.trim())).map((e) => e.outerHTML)"""
    assert shown.execute_script(unnamed) == []
    levels = [int(e.tag_name[1]) for e in all_of(shown, "h1, h2, h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1


def test_it_can_be_printed(shown):
    printed = shown.execute_cdp_cmd("Page.printToPDF", {})
    assert len(printed["data"]) > 20_000
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not one(shown, "nav").is_displayed()
    assert not scrolls_sideways(shown)


# ----------------------------------------------------------------------- hostile and incomplete


def test_names_are_never_markup(driver, copy, tmp_path):
    """A scenario, schemes and clients called like an attack stay names."""
    fleet = build_fleet(content_of(copy).runs[0].scenario.fleet, Seeds(0)).to_dict()
    fleet["clients"][0]["name"] = NASTY
    write_json(tmp_path / "fleet.json", fleet)
    folder = make_results(
        tmp_path / "hostile", name=NASTY, seeds=(0,), fleet={"file": str(tmp_path / "fleet.json")}
    )

    def rename(summary):
        summary["data"] = summary["model"] = NASTY
        for scheme in summary["schemes"].values():
            scheme["title"] = NASTY
            scheme["decision"]["binding"] = NASTY

    change_json(folder / "summary.json", rename)
    change_json(folder / "manifest.json", lambda m: m.update(command=[NASTY], torch=NASTY))

    def spread_of(scenario):
        clients = [{"name": NASTY, "examples": 2, "labels": [1, 1]}]
        about = {"data": NASTY, "partition": NASTY, "skew": 0.0}
        return {**about, "classes": [NASTY, "b"], "clients": clients}

    path = tmp_path / "hostile.html"
    path.write_text(build_page(content_of(folder, spread_of)))
    open_page(driver, path)
    assert driver.get_log("browser") == []
    assert requests(driver) == []
    assert "bad" not in driver.title.replace(NASTY, "")
    assert one(driver, "h1").get_property("textContent") == NASTY
    assert len(all_of(driver, "script")) == 2
    assert all_of(driver, "img") == []
    assert len(all_of(driver, "#graph .node")) == 12
    driver.execute_script("arguments[0].focus()", one(driver, "#graph .node"))
    assert NASTY in tip(driver)
    open_page(driver, path, phone=True)
    assert not scrolls_sideways(driver)


def test_an_empty_comparison_is_a_page(driver, copy, tmp_path):
    def empty(summary):
        summary.update(schemes={}, gains=[], targets=[])

    change_json(copy / "summary.json", empty)
    path = tmp_path / "empty.html"
    path.write_text(build_page(content_of(copy)))
    open_page(driver, path)
    assert "No scheme has finished a round yet." in one(driver, "main").text
    assert driver.get_log("browser") == []


def test_a_page_without_plans_says_so(driver, copy, tmp_path):
    for plan in copy.rglob("plan.json"):
        plan.unlink()
    path = tmp_path / "planless.html"
    path.write_text(build_page(content_of(copy)))
    open_page(driver, path)
    says = one(driver, "main").text
    assert "The fleet could not be drawn" in says
    assert "The timeline could not be drawn" in says
    assert len(all_of(driver, "#curves .line")) == 3
    assert driver.get_log("browser") == []
