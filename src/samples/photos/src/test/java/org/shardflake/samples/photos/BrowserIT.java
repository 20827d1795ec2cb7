/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.support.ui.WebDriverWait;
import org.shardflake.spring.test.ShardflakeTest;
import org.shardflake.spring.test.TestLookup;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

/** The page, in Chromium. */
@Tag("full")
@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@ShardflakeTest(
        value = "classpath:db/photos.sql",
        uidColumn = "uid",
        reference = "classpath:db/reference.sql",
        lookups = @TestLookup(value = "person.email", ignoreCase = true),
        shards = 16)
class BrowserIT {

    private static final File CHROMIUM = new File("/usr/bin/chromium");
    private static final File CHROMEDRIVER = new File("/usr/bin/chromedriver");

    @LocalServerPort
    private int port;

    @Autowired
    private PhotoService photos;

    @Autowired
    private PersonService people;

    private ChromeDriver browser;

    @BeforeEach
    void open() {
        boolean isThere = CHROMIUM.canExecute() && CHROMEDRIVER.canExecute();
        if (!isThere) {
            System.err.println("BrowserIT is skipped: it needs the Debian packages chromium and chromium-driver");
        }
        assumeTrue(isThere, "needs chromium and chromium-driver");
        ChromeOptions options = new ChromeOptions()
                .setBinary(CHROMIUM)
                .addArguments("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900");
        browser = new ChromeDriver(
                new ChromeDriverService.Builder()
                        .usingDriverExecutable(CHROMEDRIVER)
                        .build(),
                options);
    }

    @AfterEach
    void close() {
        if (browser != null) {
            browser.quit();
        }
    }

    private void visit() {
        browser.get("http://localhost:" + port);
    }

    private WebElement find(String selector) {
        return browser.findElement(By.cssSelector(selector));
    }

    private void await(String expected, String selector) {
        await(expected + " in " + selector, () -> text(selector).contains(expected));
    }

    private void await(String what, BooleanSupplier condition) {
        new WebDriverWait(browser, Duration.ofSeconds(60))
                .ignoring(StaleElementReferenceException.class)
                .withMessage(() -> what + "; the page is " + text("body"))
                .until(unused -> condition.getAsBoolean());
    }

    private String text(String selector) {
        return browser.findElements(By.cssSelector(selector)).stream()
                .map(WebElement::getText)
                .findFirst()
                .orElse("");
    }

    @Test
    void aShardMovesWhileItsPhotoIsLiked() {
        visit();
        signUp();
        find("#title").sendKeys("<b>sunrise</b>");
        find("#add button").click();
        await("<b>sunrise</b>", "#photos h2");
        String before = text("#photos .place");
        String after = before.endsWith("db1") ? before.replace("db1", "db2") : before.replace("db2", "db1");

        find("#load").click();
        await("1", "#done");
        find("#photos .move").click();
        await(after, "#photos .place");
        find("#load").click();
        await("as many likes as were stored", () -> text("#photos .like").equals("♥ " + stored()));

        assertThat(text("#done")).endsWith(" likes stored, 0 failed");
        assertThat(stored()).isGreaterThan(10);
        assertThat(find("#problem").isDisplayed()).isFalse();
    }

    private void signUp() {
        await("Kenya", "#country");
        find("#email").sendKeys("ann@example.com");
        find("#name").sendKeys("ann");
        find("#country").sendKeys("Kenya");
        find("#sign-up").click();
        await("Signed in as ann, Kenya", "#me");
    }

    private long stored() {
        return Long.parseLong(text("#done").replaceFirst(" .*", ""));
    }

    @Test
    void whatIsWrongIsSaid() {
        visit();
        find("#email").sendKeys("ann@example.com");
        find("#sign-in").click();
        await("nobody has signed up as ann@example.com", "#problem");

        find("#email").clear();
        signUp();
        browser.executeScript("document.getElementById('title').value = ' '");
        find("#add button").click();
        await("title has 0 characters, allowed: 1..100", "#problem");
    }

    /** As wide as a phone: nothing is cut off, and everything can be hit with a thumb. */
    @Test
    void fitsAPhone() throws Exception {
        Person someone = people.signUp("someone@example.com", "someone-with-a-name-" + "that-is-long".repeat(6), "IN");
        photos.add(someone, "a".repeat(100));
        photos.add(people.signUp("ann@example.com", "ann", "KE"), "sunrise");
        browser.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", 390, "height", 844, "deviceScaleFactor", 2, "mobile", true));
        visit();
        await("sunrise", "#photos h2");

        assertThat(browser.executeScript("return document.documentElement.scrollWidth"))
                .isEqualTo(390L);
        assertThat(browser.executeScript("""
                        return [...document.querySelectorAll('button, input, select')].map(e => e.getBoundingClientRect())
                            .filter(r => r.width > 0).filter(r => r.height < 44 || r.left < 0 || r.right > 390).length""")).isEqualTo(0L);
        Files.write(Path.of("target/phone.png"), browser.getScreenshotAs(OutputType.BYTES));
    }
}
