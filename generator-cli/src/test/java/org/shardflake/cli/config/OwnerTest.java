/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnerTest {

    @TempDir
    private Path directory;

    @Test
    void aFileOfOnesOwnIsTrustedUnlessAnyoneMayWriteToIt() throws Exception {
        Path file = Files.createFile(directory.resolve("shardflake.yaml"));
        assertThat(Owner.stranger(file)).isEmpty();

        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertThat(Owner.stranger(file)).contains("anyone may write to it");
    }

    @Test
    void aFileOfSomebodyElseIsNot() throws Exception {
        Path file = Files.createFile(directory.resolve("shardflake.yaml"));
        assumeTrue(Files.getAttribute(file, "unix:uid").equals(0), "only root can give a file away");

        Files.setAttribute(file, "unix:uid", 4711);

        assertThat(Owner.stranger(file)).contains("it belongs to 4711");
    }
}
