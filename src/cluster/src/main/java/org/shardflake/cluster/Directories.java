/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.commons.io.FileUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Removes directory trees. */
final class Directories {
    private static final Logger log = LoggerFactory.getLogger(Directories.class);

    private Directories() {}

    /** Removes the directory if it exists; failure is worth a warning, but no reason to stop cleaning up. */
    static void delete(Path directory) {
        try {
            FileUtils.deleteDirectory(directory.toFile());
        } catch (IOException e) {
            log.warn("cannot remove {}", directory, e);
        }
    }
}
