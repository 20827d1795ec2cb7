/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Optional;
import java.util.Set;

/** The owner of a file, compared with the user who runs the command. */
final class Owner {

    private static final Path SELF = Path.of("/proc/self");

    private Owner() {}

    /**
     * The reason to distrust a file, if there is one: someone other than the user or root can write it. Empty if no one else can, or if the
     * system cannot tell.
     */
    static Optional<String> stranger(Path path) {
        try {
            Object owner = Files.getAttribute(path, "unix:uid");
            boolean isOwn = Files.exists(SELF)
                    ? owner.equals(Files.getAttribute(SELF, "unix:uid"))
                    : Files.getOwner(path).getName().equals(System.getProperty("user.name"));
            if (!isOwn && !owner.equals(0)) {
                return Optional.of("it belongs to " + Files.getOwner(path).getName());
            }
            Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(path);
            return permissions.contains(PosixFilePermission.OTHERS_WRITE)
                    ? Optional.of("anyone may write to it")
                    : Optional.empty();
        } catch (IOException | UnsupportedOperationException | IllegalArgumentException e) {
            return Optional.empty(); // No Unix.
        }
    }
}
