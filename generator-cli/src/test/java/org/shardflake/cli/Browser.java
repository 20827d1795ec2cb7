/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogEntry;
import org.openqa.selenium.logging.LogType;
import org.shardflake.cluster.NeededPrograms;

/** Chromium without a window, from the Debian packages; tests are skipped aloud without them. */
final class Browser implements AutoCloseable {

    private static final File CHROMIUM = new File("/usr/bin/chromium");
    private static final File CHROMEDRIVER = new File("/usr/bin/chromedriver");
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final int MOST_TABS = 200;

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    static Browser open(Class<?> test) {
        boolean isThere = CHROMIUM.canExecute() && CHROMEDRIVER.canExecute();
        if (!isThere) {
            System.err.printf(
                    "%s is skipped: it needs the Debian packages chromium and chromium-driver%n", test.getSimpleName());
        }
        NeededPrograms.assume(isThere, "chromium and chromium-driver");
        ChromeOptions options = new ChromeOptions()
                .setBinary(CHROMIUM)
                .addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage");
        return new Browser(new ChromeDriver(
                new ChromeDriverService.Builder()
                        .usingDriverExecutable(CHROMEDRIVER)
                        .build(),
                options));
    }

    void visit(String url) {
        driver.get(url);
    }

    void resize(int width, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 600));
    }

    void scheme(String scheme) {
        driver.executeCdpCommand(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    WebElement find(String selector) {
        return driver.findElement(By.cssSelector(selector));
    }

    String text(String selector) {
        return String.valueOf(run("return document.querySelector(arguments[0])?.textContent ?? ''", selector));
    }

    /** Types where the focus is. */
    void type(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
    }

    /** Presses the tab key until this has the focus. */
    void tabTo(String selector) {
        for (int i = 0; i < MOST_TABS && !isFocused(selector); i++) {
            type(Keys.TAB);
        }
        if (!isFocused(selector)) {
            throw new AssertionError(
                    "%s is not among the first %s stops of the tab key".formatted(selector, MOST_TABS));
        }
    }

    boolean isFocused(String selector) {
        return Boolean.TRUE.equals(run("return document.activeElement.matches(arguments[0])", selector));
    }

    Object run(String script, Object... arguments) {
        return driver.executeScript(script, arguments);
    }

    long number(String script, Object... arguments) {
        return ((Number) Objects.requireNonNull(run(script, arguments))).longValue();
    }

    /** Waits until a script returns true. */
    void awaitTrue(String script, Object... arguments) {
        await(script).atMost(PATIENCE).until(() -> Boolean.TRUE.equals(run(script, arguments)));
    }

    /** What axe has to complain about, as lines. */
    List<?> axe() {
        driver.executeScript(axeScript());
        return (List<?>) Objects.requireNonNull(driver.executeAsyncScript("""
                const done = arguments[arguments.length - 1];
                axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
                  .then(found => done(found.violations.map(each => each.id + ': ' + each.help + ': ' + each.nodes.slice(0, 3).map(node => node.html).join(' '))
                    .concat(found.passes.length < 20 ? ['only ' + found.passes.length + ' rules were applied'] : [])));
                """));
    }

    private static String axeScript() {
        try (InputStream script = Objects.requireNonNull(Browser.class.getResourceAsStream("/axe.min.js"))) {
            return new String(script.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the page has logged, such as violations of its policy. */
    List<String> complaints() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .map(LogEntry::getMessage)
                .toList();
    }

    /** Bytes of the page's objects that are in use. */
    long heap() {
        driver.executeCdpCommand("HeapProfiler.collectGarbage", Map.of());
        Map<String, Object> usage = driver.executeCdpCommand("Runtime.getHeapUsage", Map.of());
        return ((Number) Objects.requireNonNull(usage.get("usedSize"))).longValue();
    }

    void picture(Path file) throws IOException {
        Files.createDirectories(Objects.requireNonNull(file.getParent()));
        Files.write(file, driver.getScreenshotAs(OutputType.BYTES));
    }

    @Override
    public void close() {
        driver.quit();
    }
}
