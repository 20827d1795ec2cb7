/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;

class IdConvertTest {

    private static final String KEY = "000102030405060708090a0b0c0d0e0f";

    @TempDir
    Path directory;

    private Path keyFile;

    @BeforeEach
    void writeKey() throws IOException {
        keyFile = Files.writeString(directory.resolve("id.key"), KEY + "\n");
    }

    private Result launchWithKey(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_ID_KEY_FILE", keyFile.toString()), args);
    }

    @ParameterizedTest
    @CsvFileSource(resources = "/vectors/forms.csv", useHeadersInDisplayName = true)
    void writesAndReadsTheSharedVectors(String id, String base32, String shortcode, String key, String publicId)
            throws IOException {
        assertConverts(id, "base32", base32);
        assertConverts(id, "shortcode", shortcode);
        if (key != null) {
            Files.writeString(keyFile, key);
            assertConverts(id, "public", publicId);
        }
    }

    private void assertConverts(String id, String form, String text) {
        assertThat(launchWithKey("id", "convert", id, "--to", form)).isEqualTo(new Result(0, text + "\n", ""));
        assertThat(launchWithKey("id", "convert", text, "--from", form)).isEqualTo(new Result(0, id + "\n", ""));
    }

    @Test
    void convertsStandardInput() {
        assertThat(Cli.launchWithInput(
                        "00AAQZ8619XW9\n\nx\n0000000000007\n", "id", "convert", "--from=base32", "--to=shortcode"))
                .isEqualTo(new Result(
                        1,
                        "pV_oMFPeJ\nH\n",
                        "error: line 3: \"x\" is not an id in base32: it has 1 characters instead of 13\n"));
    }

    @Test
    void printsJsonAndYaml() {
        assertThat(Cli.launch("id", "convert", "7", "11637205501278089", "--to=base32", "-o", "json"))
                .isEqualTo(new Result(0, """
                                {"id":"7","form":"base32","text":"0000000000007"}
                                {"id":"11637205501278089","form":"base32","text":"00AAQZ8619XW9"}
                                """, ""));
        assertThat(Cli.launch("id", "convert", "7", "--to=shortcode", "-o", "yaml"))
                .isEqualTo(new Result(0, """
                                - id: "7"
                                  form: shortcode
                                  text: "H"
                                """, ""));
    }

    @Test
    void decodesEveryForm() {
        Result decimal = Cli.launch("id", "decode", "11637205501278089");

        assertThat(decimal.exitCode()).isZero();
        assertThat(Cli.launch("id", "decode", "00aaqz8619xw9", "--from=base32")).isEqualTo(decimal);
        assertThat(Cli.launch("id", "decode", "pV_oMFPeJ", "--from=shortcode")).isEqualTo(decimal);
        assertThat(launchWithKey("id", "decode", "0K9HK295MPD2H", "--from=public"))
                .isEqualTo(decimal);
        assertThat(Cli.launch("id", "decode", "0K9HK295MPD2H", "--from=public", "--id-key-file", keyFile.toString()))
                .isEqualTo(decimal);
    }

    @Test
    void aShortcodeThatBeginsWithADashGoesAfterTwoDashes() {
        assertThat(Cli.launch("id", "convert", "--from=shortcode", "--", "-o", "--to"))
                .isEqualTo(new Result(0, "4008\n16509800\n", ""));
        assertThat(Cli.launchWithInput("-o\n", "id", "convert", "--from=shortcode"))
                .isEqualTo(new Result(0, "4008\n", ""));
        assertThat(Cli.launch("id", "convert", "--from=shortcode", "--form")).isEqualTo(new Result(2, "", """
                                error: unknown option --form
                                hint: did you mean --from?
                                """));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--from=base32    | 00AAQZ8619XWU | \"00AAQZ8619XWU\" is not an id in base32: character 13 is not one of 0-9 and A-Z without U",
                "--from=shortcode | Q__________   | \"Q__________\" is not a shortcode: it is out of range A..P__________",
                "--from=public    | 8000000000000 | \"8000000000000\" is not a public id: it is out of range 0000000000000..7ZZZZZZZZZZZZ",
                "--to=public      | -1            | id -1 is out of range 0..9223372036854775807, which have a public form"
            })
    void namesABadId(String option, String id, String message) {
        assertThat(launchWithKey("id", "convert", option, id))
                .isEqualTo(new Result(2, "", "error: argument 1: " + message + "\n"));
    }

    @Test
    void asksForTheKey() {
        assertThat(Cli.launch("id", "convert", "7", "--to=public")).isEqualTo(new Result(2, "", """
                                error: the public form needs a key
                                hint: name its file with --id-key-file or SHARDFLAKE_ID_KEY_FILE; make one with: openssl rand -hex 32
                                """));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "geheim", "00fe", KEY + "00", "x" + KEY, KEY + "\n" + KEY})
    void neverShowsWhatIsInTheKeyFile(String content) throws IOException {
        Files.writeString(keyFile, content);

        Result result = launchWithKey("id", "convert", "7", "--to=public", "--stacktrace");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.out()).isEmpty();
        assertThat(result.err())
                .startsWith("error: %s holds no key: a key is 32, 48 or 64 hexadecimal digits\n".formatted(keyFile))
                // All with a letter: the digits of the directory's name are random.
                .doesNotContain("geheim", "00fe", "0a0b", "Caused by");
    }

    @Test
    void saysThatTheKeyFileIsNotThere() {
        assertThat(Cli.launch("id", "convert", "7", "--to=public", "--id-key-file=/no/such.key"))
                .isEqualTo(new Result(1, "", "error: cannot read /no/such.key: no such file or directory\n"));
    }

    @Test
    void refusesAFormItLacks() {
        assertThat(Cli.launch("id", "convert", "7", "--to=base64")).isEqualTo(new Result(2, "", """
                                error: --to: 'base64' is not one of decimal, base32, shortcode, public
                                hint: see shardflake id convert --help
                                """));
    }

    @Test
    void takesManyIdsFromAPipe() {
        String ids = "499335931086511104\n".repeat(100_000);
        Result result = Cli.launch(
                new ByteArrayInputStream(ids.getBytes(UTF_8)),
                Map.of("SHARDFLAKE_ID_KEY_FILE", keyFile.toString()),
                "id",
                "convert",
                "--to=public");

        assertThat(result.exitCode()).isZero();
        assertThat(result.out().lines().distinct().count()).isEqualTo(1);
        assertThat(result.out().lines().count()).isEqualTo(100_000);
    }
}
