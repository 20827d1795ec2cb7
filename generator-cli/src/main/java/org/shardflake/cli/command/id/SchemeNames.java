/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.Iterator;
import java.util.stream.Stream;
import org.shardflake.scheme.Schemes;

/** The names that {@code --scheme} takes. Schemes are not loaded until the names are requested. */
class SchemeNames implements Iterable<String> {

    @Override
    public Iterator<String> iterator() {
        return Schemes.names().iterator();
    }

    /** The scheme names and {@code auto}, for where that is accepted. */
    static final class WithAuto extends SchemeNames {
        @Override
        public Iterator<String> iterator() {
            return Stream.concat(Stream.of(SchemeDecoder.AUTO), Schemes.names().stream())
                    .iterator();
        }
    }
}
