/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;
import org.shardflake.PublicIds;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import picocli.CommandLine.Option;

/** The option with the secret key of public ids, which is read from a file so that neither the shell nor a process list shows it. */
public final class IdKeyMixin {

    @Option(
            names = "--id-key-file",
            paramLabel = "FILE",
            description = "The file with the secret key of the public form, as 32, 48 or 64 hexadecimal digits."
                    + " SHARDFLAKE_ID_KEY_FILE can name it instead.")
    private @Nullable String file;

    private @Nullable PublicIds publicIds;

    public boolean isGiven() {
        return file != null;
    }

    /** Public ids with this key, which is read on first use. */
    public PublicIds publicIds() {
        PublicIds known = publicIds;
        if (known == null) {
            known = read();
            publicIds = known;
        }
        return known;
    }

    private PublicIds read() {
        if (file == null) {
            throw new CliException(
                    Kind.USAGE,
                    "the public form needs a key",
                    "name its file with --id-key-file or SHARDFLAKE_ID_KEY_FILE; make one with: openssl rand -hex 32");
        }
        try {
            return new PublicIds(HexFormat.of()
                    .parseHex(Files.readString(Path.of(file), StandardCharsets.ISO_8859_1)
                            .strip()));
        } catch (IOException e) {
            throw FileFailure.explain("read", file, e);
        } catch (IllegalArgumentException e) {
            // Without the cause, which quotes the file.
            throw CliException.usage("%s holds no key: a key is 32, 48 or 64 hexadecimal digits".formatted(file));
        }
    }
}
