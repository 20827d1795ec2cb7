/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** The console for other machines: TLS and a password, or nothing. */
class ConsoleRemoteTest {

    private static final String SECRET = "correct horse";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;
    private Path keystore;
    private Path keystorePassword;
    private Path password;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 8, directory);
        keystorePassword = Files.writeString(directory.resolve("keystore-password"), "keystore-secret\n");
        password = Files.writeString(directory.resolve("password"), SECRET + "\n");
        keystore = directory.resolve("console.p12");
        Process made = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        "console",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=console",
                        "-ext",
                        "san=dns:localhost,ip:127.0.0.1",
                        "-storetype",
                        "PKCS12",
                        "-storepass:file",
                        keystorePassword.toString(),
                        "-keystore",
                        keystore.toString())
                .redirectErrorStream(true)
                .start();
        assertThat(made.waitFor())
                .as(new String(made.getInputStream().readAllBytes(), UTF_8))
                .isZero();
    }

    private String[] everything() {
        return new String[] {
            "--tls-keystore=" + keystore,
            "--tls-keystore-password-file=" + keystorePassword,
            "--password-file=" + password
        };
    }

    private Cli.Result refused(String... options) {
        List<String> words = new ArrayList<>(List.of("console"));
        words.addAll(List.of(options));
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), words.toArray(String[]::new));
    }

    @Test
    @Tag("full")
    void whatIsMissingIsNamed() throws Exception {
        String[] all = everything();
        assertThat(refused("--listen=0.0.0.0:0", all[0], all[1])).isEqualTo(new Cli.Result(ExitCodes.USAGE, "", """
                error: 0.0.0.0:0 is not an address of localhost, and needs TLS and a password; --password-file is missing
                hint: or listen on localhost, and come from another machine through a tunnel: ssh -L 9719:127.0.0.1:9719 HOST
                """));
        assertThat(refused("--listen=0.0.0.0:0", all[2]).err())
                .contains("; --tls-keystore and --tls-keystore-password-file are missing");
        assertThat(refused("--listen=localhost:0", all[2]).err())
                .startsWith("error: TLS and a password go together; --tls-keystore and");
        Files.writeString(password, "short");
        assertThat(refused(concat("--listen=0.0.0.0:0", all)).err())
                .isEqualTo("error: the password in %s has 5 characters, and needs 12 or more\n".formatted(password));
        Files.writeString(password, SECRET);
        Files.writeString(keystorePassword, "another");
        Cli.Result locked = refused(concat("--listen=0.0.0.0:0", all));
        assertThat(locked.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(locked.err()).startsWith("error: cannot read %s: ".formatted(keystore));
        assertThat(locked.err()).doesNotContain("another");
    }

    private static String[] concat(String first, String... others) {
        List<String> all = new ArrayList<>(List.of(first));
        all.addAll(List.of(others));
        return all.toArray(String[]::new);
    }

    @Test
    void otherMachinesComeWithPasswordAndToken() throws Exception {
        HttpClient client = HttpClient.newBuilder().sslContext(trust()).build();
        try (RunningConsole console = RunningConsole.startAt("0.0.0.0:0", shards.environment(), everything())) {
            assertThat(console.url()).startsWith("https://0.0.0.0:");
            URI page = URI.create(console.url().replace("0.0.0.0", "127.0.0.1"));
            URI metrics = page.resolve("/metrics");

            assertThat(get(client, page, "").statusCode()).isEqualTo(401);
            assertThat(get(client, metrics, "").statusCode()).isEqualTo(401);
            HttpResponse<String> in = get(client, page, SECRET);
            assertThat(in.statusCode()).isEqualTo(200);
            assertThat(in.headers().firstValue("Set-Cookie").orElseThrow()).endsWith("; SameSite=Strict; Secure");
            assertThat(get(client, metrics, SECRET).body()).contains("shardflake_catalog_up 1.0");
            assertThat(get(client, page.resolve("./console.js"), SECRET).statusCode())
                    .as("without the token")
                    .isEqualTo(403);
            for (String wrong : List.of("x", SECRET + " ", "correct hors", "0", ":")) {
                assertThat(get(client, page, wrong).statusCode()).as(wrong).isEqualTo(401);
            }
            assertThat(get(client, page, SECRET).statusCode()).as("after five").isEqualTo(429);
            assertThat(console.told()).contains("a wrong password for the console came from 127.0.0.1");
        }
    }

    /** More clients than the console answers at a time begin a handshake and do not go on with it. */
    @Test
    @Tag("full")
    void slowHandshakesHoldNobodyUp() throws Exception {
        HttpClient client = HttpClient.newBuilder().sslContext(trust()).build();
        List<Socket> slow = new ArrayList<>();
        try (RunningConsole console = RunningConsole.startAt("localhost:0", shards.environment(), everything())) {
            URI page = URI.create(console.url());
            for (int i = 0; i < 50; i++) {
                Socket socket = new Socket(page.getHost(), page.getPort());
                slow.add(socket);
                socket.getOutputStream().write(22); // Which a ClientHello begins with.
            }

            assertThat(get(client, page, SECRET).statusCode()).isEqualTo(200);

            for (Socket socket : slow) {
                socket.setSoTimeout(1);
                assertThatThrownBy(() -> socket.getInputStream().read())
                        .as("the console went on waiting for it")
                        .isInstanceOf(SocketTimeoutException.class);
            }
        } finally {
            for (Socket socket : slow) {
                socket.close();
            }
        }
    }

    private SSLContext trust() throws Exception {
        KeyStore store = KeyStore.getInstance(keystore.toFile(), "keystore-secret".toCharArray());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("console", store.getCertificate("console"));
        TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        managers.init(trusted);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, managers.getTrustManagers(), null);
        return tls;
    }

    private static HttpResponse<String> get(HttpClient client, URI uri, String secret) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri);
        if (!secret.isEmpty()) {
            request.header(
                    "Authorization", "Basic " + Base64.getEncoder().encodeToString(("ann:" + secret).getBytes(UTF_8)));
        }
        return client.send(request.build(), BodyHandlers.ofString());
    }
}
