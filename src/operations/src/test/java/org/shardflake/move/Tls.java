/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyStore;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/** Servers of this machine that let those who give a password in by TLS only, with a certificate for localhost, until closed. */
final class Tls implements AutoCloseable {

    private static final char[] STORE_PASSWORD = "changeit".toCharArray();

    private final List<TestDatabase> databases;
    private final List<String> access;
    private final Path certificate;

    private Tls(List<TestDatabase> databases, List<String> access, Path certificate) {
        this.databases = databases;
        this.access = access;
        this.certificate = certificate;
    }

    static Tls on(PostgresExtension postgres, int servers, Path directory) throws Exception {
        List<TestDatabase> databases =
                IntStream.range(0, servers).mapToObj(postgres::database).toList();
        Path file = Path.of(ask(databases.get(0), "SELECT current_setting('hba_file')"));
        assumeTrue(Files.isReadable(file), "the servers' files are not here");
        KeyStore store = KeyStore.getInstance(store(directory).toFile(), STORE_PASSWORD);
        Path key = pem(
                directory, "PRIVATE KEY", store.getKey("server", STORE_PASSWORD).getEncoded());
        Path certificate =
                pem(directory, "CERTIFICATE", store.getCertificate("server").getEncoded());
        List<String> access = new ArrayList<>();
        for (TestDatabase database : databases) {
            Path hba = Path.of(ask(database, "SELECT current_setting('hba_file')"));
            access.add(Files.readString(hba));
            String role = "all +" + ManagedRole.BY_PASSWORD + " all ";
            Files.writeString(
                    hba,
                    "hostssl " + role + "scram-sha-256\nhost " + role + "reject\n" + access.get(access.size() - 1));
            execute(database, "ALTER SYSTEM SET ssl_cert_file = '" + certificate + "'");
            execute(database, "ALTER SYSTEM SET ssl_key_file = '" + key + "'");
            execute(database, "ALTER SYSTEM SET ssl = on");
            execute(database, "SELECT pg_reload_conf()");
        }
        return new Tls(databases, access, certificate);
    }

    /** With a key and a certificate that the JDK makes. */
    private static Path store(Path directory) throws Exception {
        Path store = directory.resolve("server.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        "server",
                        "-keyalg",
                        "RSA",
                        "-dname",
                        "CN=localhost",
                        "-ext",
                        "san=dns:localhost",
                        "-validity",
                        "2",
                        "-storetype",
                        "PKCS12",
                        "-storepass",
                        new String(STORE_PASSWORD),
                        "-keystore",
                        store.toString())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
            throw new IllegalStateException("keytool failed");
        }
        return store;
    }

    private static Path pem(Path directory, String type, byte[] content) throws Exception {
        Path file = directory.resolve(type.replace(" ", "").toLowerCase(Locale.ROOT) + ".pem");
        String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
        Files.writeString(file, "-----BEGIN %1$s-----\n%2$s\n-----END %1$s-----\n".formatted(type, lines));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        return file;
    }

    /** Which clients and servers trust. */
    Path certificate() {
        return certificate;
    }

    private static void execute(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect()) {
            Sql.execute(connection, sql);
        }
    }

    private static String ask(TestDatabase database, String sql) throws SQLException {
        try (Connection connection = database.connect()) {
            return Sql.text(connection, sql);
        }
    }

    @Override
    public void close() throws Exception {
        for (int i = 0; i < databases.size(); i++) {
            Files.writeString(Path.of(ask(databases.get(i), "SELECT current_setting('hba_file')")), access.get(i));
            for (String setting : List.of("ssl", "ssl_cert_file", "ssl_key_file")) {
                execute(databases.get(i), "ALTER SYSTEM RESET " + setting);
            }
            execute(databases.get(i), "SELECT pg_reload_conf()");
        }
    }
}
