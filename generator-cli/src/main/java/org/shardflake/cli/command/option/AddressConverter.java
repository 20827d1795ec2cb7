/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads an address to listen at: HOST:PORT, [IPv6]:PORT, or a port of localhost. */
public final class AddressConverter implements ITypeConverter<InetSocketAddress> {

    private static final Pattern FORM = Pattern.compile("(?:(?:\\[([0-9a-fA-F:.]+)]|([^\\s:/]+)):)?([0-9]{1,5})");

    @Override
    public InetSocketAddress convert(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches() || Integer.parseInt(form.group(3)) > 65535) {
            throw new TypeConversionException(
                    "'%s' is not an address to listen on, such as localhost:9100, [::1]:9100 or 9100".formatted(text));
        }
        String host = form.group(1) != null ? form.group(1) : form.group(2);
        InetSocketAddress address =
                new InetSocketAddress(host == null ? "localhost" : host, Integer.parseInt(form.group(3)));
        if (address.isUnresolved()) {
            throw new TypeConversionException("cannot resolve host '%s'".formatted(host));
        }
        return address;
    }

    /** The address as it was given, with the actual port. */
    public static String text(InetSocketAddress given, int port) {
        String host = given.getHostString();
        return "%s:%s".formatted(host.contains(":") ? "[" + host + "]" : host, port);
    }

    /**
     * An address of localhost, in numeric form. Its name may stand for two addresses, and a browser tries the other one first, where someone
     * else may listen.
     */
    public static String number(InetSocketAddress local) {
        return "%s:%s"
                .formatted(
                        local.getAddress() instanceof Inet6Address
                                ? "[::1]"
                                : local.getAddress().getHostAddress(),
                        local.getPort());
    }

    /** The exception for an address that cannot be listened on. */
    public static CliException taken(InetSocketAddress address, IOException e) {
        return new CliException(
                Kind.PRECONDITION,
                "cannot listen at %s: %s".formatted(text(address, address.getPort()), e.getMessage()),
                "choose another with --listen; localhost:0 takes any port that is free",
                e);
    }
}
