/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.console.Remote;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.Option;

/** What a console needs to listen at an address of another than localhost. Secrets are read from files, so that no process list shows them. */
final class RemoteMixin {

    private static final int LEAST_PASSWORD = 12;

    @Option(
            names = "--tls-keystore",
            paramLabel = "FILE",
            description = "The PKCS12 file with key and certificate, to listen at an address that is not of localhost.")
    private @Nullable String keystore;

    @Option(
            names = "--tls-keystore-password-file",
            paramLabel = "FILE",
            description = "The file with the password of that one.")
    private @Nullable String keystorePassword;

    @Option(
            names = "--password-file",
            paramLabel = "FILE",
            description = "The file with the password that browsers are asked for then, of 12 characters or more.")
    private @Nullable String password;

    /**
     * What was given, or nothing if nothing is needed.
     *
     * @throws CliException if the address needs more than was given
     */
    Optional<Remote> remote(InetSocketAddress address) {
        boolean isLocal = address.getAddress().isLoopbackAddress();
        if (isLocal && keystore == null && keystorePassword == null && password == null) {
            return Optional.empty();
        }
        if (keystore == null || keystorePassword == null || password == null) {
            throw missing(address, isLocal);
        }
        String secret = read(password);
        if (secret.length() < LEAST_PASSWORD) {
            throw CliException.usage("the password in %s has %s characters, and needs %s or more"
                    .formatted(password, secret.length(), LEAST_PASSWORD));
        }
        return Optional.of(new Remote(tls(keystore, read(keystorePassword).toCharArray()), secret));
    }

    private CliException missing(InetSocketAddress address, boolean isLocal) {
        List<String> missing = new ArrayList<>();
        if (keystore == null) {
            missing.add("--tls-keystore");
        }
        if (keystorePassword == null) {
            missing.add("--tls-keystore-password-file");
        }
        if (password == null) {
            missing.add("--password-file");
        }
        String lacking = String.join(" and ", missing) + (missing.size() == 1 ? " is" : " are");
        return new CliException(
                Kind.USAGE,
                isLocal
                        ? "TLS and a password go together; %s missing".formatted(lacking)
                        : "%s is not an address of localhost, and needs TLS and a password; %s missing"
                                .formatted(AddressConverter.text(address, address.getPort()), lacking),
                "or listen on localhost, and come from another machine through a tunnel: ssh -L 9719:127.0.0.1:9719 HOST");
    }

    private static String read(String file) {
        try {
            return Files.readString(Path.of(file), UTF_8).strip();
        } catch (IOException e) {
            throw FileFailure.explain("read", file, e);
        }
    }

    private static SSLContext tls(String file, char[] secret) {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(in, secret);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(store, secret);
            SSLContext tls = SSLContext.getInstance("TLS");
            tls.init(keys.getKeyManagers(), null, null);
            return tls;
        } catch (IOException e) {
            throw FileFailure.explain("read", file, e);
        } catch (GeneralSecurityException e) {
            throw CliException.usage("%s holds no key that its password opens: %s".formatted(file, e.getMessage()));
        }
    }
}
